/**
 * Make `harness.js` of `main.ts` and what it imports: one plain script that the host sends down the pipe, so that
 * Deno neither reads nor resolves nor transpiles a dozen files at every start. Run it as `deno run -A
 * deno/bundle.ts`; with `--check` it only says whether the file on disk is the one that it would write.
 */

const folder = new URL(".", import.meta.url);
const target = new URL("harness.js", folder);
const IMPORT = /^import (?:type )?\{([^}]*)\} from "\.\/(\w+)\.ts";\n/gm;
const EXPORT = /^export (?:async )?(?:function|class|const) (\w+)/gm;

async function transpile(name: string): Promise<string> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["transpile", "--no-config", "--source-map", "none", `${name}.ts`],
    cwd: folder,
  }).output();
  if (!output.success) throw new Error(new TextDecoder().decode(output.stderr));
  // Comments are for the reader of the sources.
  const source = new TextDecoder().decode(output.stdout);
  return source.replace(/\/\*\*[^]*?\*\/\s*/g, "").replace(/^\s*\/\/.*\n/gm, "");
}

/** The modules that main needs, each after those that it imports itself. */
async function inOrder(name: string, done: Map<string, string>): Promise<void> {
  if (done.has(name)) return;
  const source = await transpile(name);
  for (const [, , needed] of source.matchAll(IMPORT)) await inOrder(needed, done);
  done.set(name, source);
}

function wrapped(name: string, source: string): string {
  const names = [...source.matchAll(EXPORT)].map((match) => match[1]).sort();
  const body = source.replace(IMPORT, "").replace(/^export /gm, "").trim();
  if (/^(?:import|export)\b/m.test(body)) {
    throw new Error(
      `Cannot bundle ${name}.ts: it imports or exports in a way that this script does not know`,
    );
  }
  if (names.length === 0) return `// ${name}.ts\n(() => {\n${body}\n})();\n`;
  return `// ${name}.ts\nconst { ${names.join(", ")} } = (() => {\n${body}\nreturn { ${
    names.join(", ")
  } };\n})();\n`;
}

const modules = new Map<string, string>();
await inOrder("main", modules);
const parts = [...modules].map(([name, source]) => wrapped(name, source));
const harness = `// Made of the .ts files beside it by bundle.ts. Do not edit.\n"use strict";\n${
  parts.join("\n")
}//# sourceURL=harness.js\n`;

if (Deno.args.includes("--check")) {
  const onDisk = await Deno.readTextFile(target).catch(() => "");
  if (onDisk !== harness) {
    console.error('deno/harness.js is not what its sources make: run "make harness"');
    Deno.exit(1);
  }
} else {
  await Deno.writeTextFile(target, harness);
}
