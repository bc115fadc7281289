import { assertEquals } from "./testing.ts";
import { CpuMeter } from "./cpu_meter.ts";

const { cpuUsage } = Deno as unknown as { cpuUsage(): { user: number; system: number } };

function compute(ms: number): void {
  for (const end = cpuUsage().user + ms * 1000; cpuUsage().user < end;);
}

Deno.test("what is computed is measured, and what is waited for is not", async () => {
  const meter = new CpuMeter();
  meter.spent_us();
  compute(200);
  const computed = meter.spent_us();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const waited = meter.spent_us();
  assertEquals([computed > 100_000, waited < computed], [true, true]);
});
