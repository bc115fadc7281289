import type { ToolResultFrame } from "./protocol.ts";

const fromBase64 = Uint8Array.fromBase64;
type Place = Record<string | number, unknown>;

/** The result of a tool, with a Uint8Array in each place that the host says holds bytes. */
export function reviveBytes({ result, bytes }: ToolResultFrame): unknown {
  if (bytes === undefined) return result;
  const root: Place = { result };
  for (const path of bytes) {
    const last = path.length === 0 ? "result" : path[path.length - 1];
    let place = path.length === 0 ? root : result as Place;
    for (let at = 0; at < path.length - 1; at++) place = place[path[at]] as Place;
    place[last] = fromBase64(place[last] as string);
  }
  return root.result;
}
