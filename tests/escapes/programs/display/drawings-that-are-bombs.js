// name: drawings-that-are-bombs
// class: display
// tier: isolated
// timeout: 8
// alone: yes
// expect: drawings that multiply, blur or grow without end cost the host bounded time and memory
// check: ok
// check: len(displayed) == 5
// check: all(size <= 4194304 for _, _, size in displayed)
const svg = (inside, size = 'width="2000" height="2000"') => `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${inside}</svg>`;
const uses = (n) => `<g id="a${n}">${`<use href="#a${n - 1}"/>`.repeat(10)}</g>`;
display(svg(`<defs><g id="a0"><rect width="1" height="1"/></g>${[1, 2, 3, 4, 5, 6, 7, 8, 9].map(uses).join("")}</defs><use href="#a9"/>`));
display(svg("<g/>", 'width="1e9" height="1e9"'));
display(svg("<g>".repeat(100000) + "</g>".repeat(100000)));
display(svg(`<path d="${"M0 0L1e30 1e30".repeat(20000)}" stroke="red" stroke-dasharray="0.0001"/>`));
display(svg(`<filter id="f">${'<feMorphology operator="dilate" radius="900"/>'.repeat(90)}</filter><rect width="2000" height="2000" filter="url(#f)"/>`));
