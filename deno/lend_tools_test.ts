import { assertEquals, FakePipe, thrownBy } from "./testing.ts";

const pipe = new FakePipe();
const { lendTools } = await import("./lend_tools.ts");

interface Tools {
  clock(): Promise<unknown>;
  notes: { add(params: unknown): Promise<unknown>; list(params?: unknown): Promise<unknown> };
}

const tools = lendTools([
  { path: ["clock"], name: "clock" },
  { path: ["notes", "add"], name: "notes.add" },
  { path: ["notes", "list"], name: "list-notes" },
]) as Tools;

Deno.test("a tool hangs at its path and is called by its name", () => {
  for (const id of [1, 2, 3]) pipe.send(`{"type":"__tool_result__","call_id":"${id}","result":null}\n`);
  void tools.clock();
  void tools.notes.add({ text: "Milk" });
  void tools.notes.list();
  assertEquals(pipe.take(), [
    '{"type":"__tool_call__","call_id":"1","name":"clock","params":{}}',
    '{"type":"__tool_call__","call_id":"2","name":"notes.add","params":{"text":"Milk"}}',
    '{"type":"__tool_call__","call_id":"3","name":"list-notes","params":{}}',
  ]);
});

Deno.test("no name means anything but a lent tool", () => {
  for (const group of [tools, tools.notes]) {
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
      assertEquals((group as unknown as Record<string, unknown>)[name], undefined);
    }
  }
  assertEquals(Object.keys(tools), ["clock", "notes"]);
  assertEquals(Object.keys(lendTools([])), []);
});

Deno.test("a tool cannot be swapped, added or removed", async () => {
  const swap = () => Promise.resolve("forged");
  await thrownBy(() => tools.clock = swap);
  await thrownBy(() => tools.notes.add = swap);
  await thrownBy(() => Object.assign(tools.notes, { more: swap }));
  await thrownBy(() => delete (tools as Partial<Tools>).notes);
});

Deno.test("a tool called like a part of Object is only a tool", () => {
  const odd = lendTools([{ path: ["__proto__", "constructor"], name: "odd" }]);
  assertEquals(Object.getPrototypeOf(odd), null);
  assertEquals(Object.keys(odd), ["__proto__"]);
});

Deno.test("other spellings lead to the same tool, and are not listed", async () => {
  const lent = lendTools([{
    path: ["git_hub", "list_commits"],
    name: "git-hub.list_commits",
    aliases: [["git_hub", "listCommits"], ["gitHub", "listCommits"], ["git-hub", "list_commits"], [
      "commits",
    ]],
  }]) as Record<string, Record<string, unknown>>;
  const call = lent.git_hub.list_commits;
  for (const same of [lent.git_hub.listCommits, lent.gitHub.listCommits, lent["git-hub"].list_commits]) {
    assertEquals(same === call, true);
  }
  assertEquals(lent.commits === call as unknown, true);
  assertEquals([Object.keys(lent), Object.keys(lent.git_hub)], [["git_hub"], ["list_commits"]]);
  assertEquals(Object.getPrototypeOf(lent.gitHub), null);
  await thrownBy(() => lent.gitHub.listCommits = () => "forged");
  await thrownBy(() => lent.gitHub.more = () => "forged");
});
