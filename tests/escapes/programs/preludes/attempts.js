// Try many things; each that works is said at once, so that it is known even if the process then dies.
const attempt = async (name, action) => {
  let clock;
  const late = new Promise((_, reject) => clock = setTimeout(() => reject(new Error("nothing came of it")), 700));
  try {
    const got = await Promise.race([action(), late]);
    if (got !== false && got !== null && got !== undefined) console.log(`GOT ${name}: ${typeof got === "string" ? got.slice(0, 200) : typeof got}`);
  } catch (refusal) {
    console.debug(`no ${name}: ${String(refusal?.message ?? refusal).slice(0, 80)}`);
  } finally {
    clearTimeout(clock);
  }
};
const happens = (emitter, ...events) =>
  new Promise((resolve, reject) => {
    emitter.on("error", reject);
    for (const event of events) emitter.on(event, () => resolve(event));
  });
const text = (bytes) => new TextDecoder().decode(bytes);
const must = (condition) => condition || false;
