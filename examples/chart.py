"""A bar chart in ten lines of code: a lent tool gives the data, the code draws SVG, and `display` shows it. The host
renders it to PNG, for the person and for models that take pictures.

Prints:

    {"best":"Apr"}
    [displayed "Sales": image/png, 320 × 200 pixels]
    turn.displayed: image/png of 320 × 200 pixels
"""

from tempfile import TemporaryDirectory

import anyio

from cortex import MotorCortex, Settings, Toolbox

toolbox = Toolbox()


@toolbox.tool(name="shop.sales")
def sales() -> dict[str, int]:
    """Pieces sold in each month."""
    return {"Jan": 30, "Feb": 80, "Mar": 55, "Apr": 100}


CODE = """
const sales = Object.entries(await tools.shop.sales());
const most = Math.max(...sales.map(([, count]) => count));
const bars = sales.map(([month, count], at) => {
  const height = 150 * count / most, x = 20 + 75 * at;
  return `<rect x="${x}" y="${170 - height}" width="55" height="${height}" fill="#3366cc"/>
    <text x="${x + 27}" y="190" text-anchor="middle">${month}</text>`;
});
display(`<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200">
  <rect width="320" height="200" fill="white"/>${bars.join("")}</svg>`, { title: "Sales" });
return { best: sales.find(([, count]) => count === most)[0] };
"""


async def main(home: str) -> bytes:
    async with MotorCortex(Settings(home=home), toolbox=toolbox) as cortex, cortex.turn() as turn:
        print(await turn.call("core.execute", {"purpose": "draw the sales", "code": CODE}))
        chart = turn.displayed[0]
        print(f"turn.displayed: {chart.mime_type} of {chart.size[0]} × {chart.size[1]} pixels")
        return chart.data


with TemporaryDirectory() as home:
    picture = anyio.run(main, home)
