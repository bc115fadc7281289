/** A limit of the run that its code may catch and live with: a request too large, or one too many. */
export class LimitError extends Error {
  override name = "LimitError";
  code = "limit";
  retryable = false;
}
