/** What a lent tool's promise is rejected with. Agent code may catch it and look at `code` and `retryable`. */
export class ToolError extends Error {
  override name = "ToolError";

  constructor(
    readonly tool: string,
    message: string,
    readonly code: string,
    readonly retryable: boolean,
  ) {
    super(message);
  }
}
