// CryptoPrice: tells of a change of the price of Bitcoin by one per cent or more.
// input: tick. output: crypto_price_change. tier: network. host: api.coingecko.com. energy budget: 0.02
//
// The code of a neuron is the body of an async function with `signal`, `state` and `emit(type, data)`.

const source = "https://api.coingecko.com/api/v3/simple/price?ids=bitcoin&vs_currencies=usd";
const threshold = 0.01;

let usd: unknown;
try {
  const response = await fetch(source);
  if (!response.ok) return;
  usd = (await response.json())?.bitcoin?.usd;
} catch {
  return; // the next tick asks again
}
if (typeof usd !== "number" || !(usd > 0)) return;

// Against the last price that was emitted and not the last one seen: five steps of 0.3 % are a change of 1.5 %.
const before = state.emittedUsd;
if (typeof before === "number" && Math.abs(usd / before - 1) < threshold) return;

state.emittedUsd = usd;
emit("crypto_price_change", { usd, before: before ?? null });
