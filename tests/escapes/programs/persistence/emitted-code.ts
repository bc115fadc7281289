// name: emitted-code
// class: persistence
// tier: isolated
// authority: yes
// runs: 2
// timeout: 3
// expect: the source of a run stays in no cache
// check: ok and residue == []
const mark: string = "@@MARK@@";
await import("data:application/typescript," + encodeURIComponent(`export const kept: string = "${mark}"`));
return mark.length;
