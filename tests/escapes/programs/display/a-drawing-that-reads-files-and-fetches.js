// name: a-drawing-that-reads-files-and-fetches
// class: display
// tier: isolated
// authority: yes
// timeout: 10
// expect: a drawing reaches neither files nor servers, whatever it names and however it names them
// check: ok
// check: len(displayed) == 9 and all(kind in ("note", "image") for kind, _, _ in displayed)
// check: [kind for kind, _, _ in displayed].count("note") == 7
const ns = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="50" height="50"';
const size = 'width="50" height="50"';
const drawings = [
  `<svg ${ns}><image ${size} href="@@SECRET@@"/></svg>`,
  `<svg ${ns}><image ${size} xlink:href="file://@@SECRET@@"/></svg>`,
  `<svg ${ns}><image ${size} href="http://@@FORBIDDEN@@/a.png"/></svg>`,
  `<svg ${ns}><use xlink:href="http://@@FORBIDDEN@@/a.svg#b"/></svg>`,
  `<svg ${ns}><filter id="f"><feImage xlink:href="http://@@FORBIDDEN@@/a.png"/></filter><rect ${size} filter="url(#f)"/></svg>`,
  `<!DOCTYPE svg [<!ENTITY x SYSTEM "file://@@SECRET@@">]><svg ${ns}><text y="20">&x;</text></svg>`,
  `<svg ${ns}><image ${size} href="data:image/svg+xml,${encodeURIComponent(`<svg ${ns}><image href="@@SECRET@@"/></svg>`)}"/></svg>`,
  `<svg ${ns}><style>@import url("http://@@FORBIDDEN@@/a.css"); rect { fill: url("http://@@FORBIDDEN@@/a.svg#b") }</style><rect ${size}/></svg>`,
  `<?xml-stylesheet href="http://@@FORBIDDEN@@/a.css" type="text/css"?><svg ${ns}><script href="#a">fetch("http://@@FORBIDDEN@@/")</script></svg>`,
];
for (const drawing of drawings) display(drawing, { type: "svg" });
