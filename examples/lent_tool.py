"""Python functions as tools for the model's code. One asks the owner before each call, also from inside the sandbox;
the owner here is a rule, and could be a person.

Prints:

    asked: shop.order {'item': 'tea', 'count': 3} by code, to restock
    asked: shop.order {'item': 'tea', 'count': 5000} by code, to restock
    {"cheapest":"tea","ordered":"3 tea","refused":"denied: the owner was asked about shop.order and said no: too many"}
    audit: intent tool_call owner_decision tool_call owner_decision tool_call execution
"""

from tempfile import TemporaryDirectory

import anyio

from cortex import Decision, MotorCortex, Question, Settings, Toolbox

toolbox = Toolbox()


@toolbox.tool(name="shop.prices")
def prices() -> dict[str, float]:
    """The price of each item."""
    return {"tea": 2.5, "coffee": 4.0}


@toolbox.tool(name="shop.order", policy="ask")
async def order(item: str, count: int = 1) -> str:
    """Order an item. Costs money."""
    return f"{count} {item}"


class Thrifty:
    """Any object with this method is an Owner."""

    async def decide(self, question: Question) -> Decision:
        print("asked:", question.tool, question.arguments, f"by {question.origin}, to {question.purpose}")
        return Decision(question.arguments["count"] <= 10, "too many")


CODE = """
const prices = Object.entries(await tools.shop.prices());
const [item] = prices.sort((a, b) => a[1] - b[1])[0];
const ordered = await tools.shop.order({ item, count: 3 });
const refused = await tools.shop.order({ item, count: 5000 }).catch((error) => `${error.code}: ${error.message}`);
return { cheapest: item, ordered, refused };
"""


async def main(home: str) -> None:
    async with MotorCortex(Settings(home=home), toolbox=toolbox, owner=Thrifty()) as cortex:
        async with cortex.turn() as turn:
            print(await turn.call("core.execute", {"purpose": "restock", "code": CODE}))
        print("audit:", *(record.kind for record in cortex.audit.records()))


with TemporaryDirectory() as home:
    anyio.run(main, home)
