"""`display` in real Deno: what arrives, what honest code may catch, and what ends a run that goes past the harness."""

from __future__ import annotations

import base64

import pytest

from sandbox import ErrorType, ReadyJson, ToolDeclaration, may_vary
from tests.conftest import execute
from tests.sandbox.contracts.test_displays import png

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

PNG = base64.b64encode(png()).decode()
MAKE = f"const png = Uint8Array.fromBase64('{PNG}');"


async def test_what_code_displays_arrives_in_order_and_is_no_part_of_the_result():
    outcome = await execute(
        f"{MAKE} display(png, {{ title: 'A' }}); display('<svg/>'); await display([{{ a: 1 }}]); display('# b'); return 5"
    )
    assert outcome.result == 5
    found = [(item.type, item.mime_type, item.title) for item in outcome.displayed]
    assert found == [
        ("image", "image/png", "A"),
        ("svg", "image/svg+xml", ""),
        ("table", "application/json", ""),
        ("markdown", "text/markdown", ""),
    ]
    assert outcome.displayed[0].data == png()


async def test_what_was_displayed_before_a_failure_is_there():
    outcome = await execute("display('a'); throw new Error('no')")
    assert [item.text for item in outcome.displayed] == ["a"]
    assert not outcome.ok


async def test_more_displays_or_bytes_than_the_settings_allow_are_errors_that_code_may_catch():
    outcome = await execute(
        """
        const said = [];
        for (const text of ['a', 'b', 'c']) try { display(text) } catch (error) { said.push(error.name) }
        return said
        """,
        max_displays=2,
    )
    assert outcome.result == ["LimitError"]
    assert len(outcome.displayed) == 2
    outcome = await execute(
        "display('a'.repeat(60)); try { display('b'.repeat(60)) } catch (error) { return error.message }",
        max_displayed_bytes=100,
    )
    assert outcome.result == "Cannot display 60 bytes: this run may display 40 more"
    assert len(outcome.displayed) == 1


async def test_bytes_pass_to_tools_and_back_and_only_their_visible_part():
    given = []

    class Tools:
        def declarations(self):
            return [ToolDeclaration("camera", input_schema={})]

        async def call(self, name, arguments):
            given.append(arguments)
            return ReadyJson(b'{"type":"image","data":"AQI="}', (("data",),))

    outcome = await execute(
        """
        const view = new Uint8Array([9, 1, 2, 9]).subarray(1, 3);
        const { data } = await tools.camera({ view, whole: view.buffer, words: new DataView(new ArrayBuffer(1)).buffer });
        return [data instanceof Uint8Array, data, view, view.buffer]
        """,
        Tools(),
    )
    assert given == [{"view": "AQI=", "whole": "CQECCQ==", "words": "AA=="}]
    assert outcome.result == [True, [1, 2], [1, 2], [9, 1, 2, 9]]


async def test_a_returned_picture_is_displayed_and_its_size_stands_for_it():
    outcome = await execute(f"{MAKE} return {{ type: 'image', mimeType: 'image/png', data: png }}")
    assert outcome.result == {"type": "image", "mimeType": "image/png", "bytes": len(png())}
    assert [item.data for item in outcome.displayed] == [png()]


async def test_returned_sounds_and_blobs_are_displayed_also_as_properties():
    outcome = await execute(
        """
        const data = new Uint8Array([9, 1, 2]).subarray(1);
        return { note: "hi", sound: { type: "audio", mimeType: "audio/wav", data },
                 file: { type: "blob", mimeType: "application/pdf", uri: "x://y", data } }
        """
    )
    assert outcome.result == {
        "note": "hi",
        "sound": {"type": "audio", "mimeType": "audio/wav", "bytes": 2},
        "file": {"type": "blob", "mimeType": "application/pdf", "uri": "x://y", "bytes": 2},
    }
    found = [(item.type, item.mime_type, item.data) for item in outcome.displayed]
    assert found == [("audio", "audio/wav", b"\1\2"), ("blob", "application/pdf", b"\1\2")]


async def test_a_damaged_picture_is_an_error_or_a_note_and_never_ends_the_run():
    outcome = await execute(
        f"""{MAKE}
        const said = [];
        const mangled = png.slice();
        mangled[4] = 10;  // as by a program that changes the ends of lines
        try {{ display(mangled) }} catch (error) {{ said.push(error.message) }}
        display(png.subarray(0, 30));
        display(png.subarray(0, 10));
        return said"""
    )
    assert outcome.result == ["Cannot display bytes that are neither PNG nor JPEG"]
    assert [item.text for item in outcome.displayed] == [
        "A picture was not shown: its end is missing",
        "A picture was not shown: its size cannot be read",
    ]


GONE = "reading it threw TypeError: its bytes are gone: the buffer was transferred or made smaller"
BYTES = {
    "new Uint8Array([9, 1, 2, 9]).subarray(1, 3)": ("AQI=", [1, 2]),
    "new Uint8ClampedArray([9, 1, 2]).subarray(1)": ("AQI=", [1, 2]),
    "new Uint8Array([1, 2]).buffer": ("AQI=", [1, 2]),
    "new Uint8Array(new SharedArrayBuffer(8), 2, 2)": ("AAA=", [0, 0]),
    "new ArrayBuffer(2, { maxByteLength: 90 })": ("AAA=", [0, 0]),
    "new Uint16Array([9, 1, 2]).subarray(1)": ([1, 2], [1, 2]),
    "new Float64Array([0.5])": ([0.5], [0.5]),
    "new BigInt64Array([5n])": ([5], [5]),
    "new DataView(new Uint8Array([9, 1, 2]).buffer, 1)": "an object of type DataView",
    "new SharedArrayBuffer(4)": "an object of type SharedArrayBuffer",
    "new Blob(['a'])": "an object of type Blob",
    "gone(new Uint8Array(4).buffer)": GONE,
    "gone(new Uint8Array(4))": GONE,
    "gone(new Float64Array(4))": GONE,
    "cut(Uint8Array, 4)": GONE,
    "cut(Float32Array, 1)": GONE,
}


@pytest.mark.parametrize("value", BYTES)
async def test_bytes_of_any_kind_pass_by_their_visible_part_or_with_a_clear_error(value):
    """As an argument, inside of one, in the store, and as the result."""
    given = []

    class Tools:
        def declarations(self):
            return [ToolDeclaration("take", input_schema={})]

        async def call(self, name, arguments):
            given.append(arguments["v"])
            return ReadyJson(b"null")

    code = f"""
    function gone(value) {{
      const buffer = value.buffer ?? value;
      structuredClone(buffer, {{ transfer: [buffer] }});
      return value;
    }}
    function cut(View, length) {{
      const buffer = new ArrayBuffer(8, {{ maxByteLength: 8 }});
      const view = new View(buffer, 4, length);
      buffer.resize(6);
      return view;
    }}
    const value = {value};
    const said = async (work) => {{ try {{ return await work() }} catch (error) {{ return error.message }} }};
    """
    outcome = await execute(
        code
        + "return [await said(() => tools.take({ v: value })), await said(() => tools.take({ v: { a: [value] } })),"
        "await said(() => store.set('k', value))]",
        Tools(),
    )
    returned = await execute(f"{code} return {{ value }}")
    expected = BYTES[value]
    if isinstance(expected, str):
        assert given == []
        assert outcome.result == [
            f"Cannot call take with arguments.v: {expected}",
            f"Cannot call take with arguments.v.a[0]: {expected}",
            f'Cannot keep "k": value: {expected}',
        ]
        assert returned.error is not None
        assert f"Cannot return result.value: {expected}" in returned.error.message
    else:
        argument, numbers = expected
        assert given == [argument, {"a": [argument]}]
        assert returned.result == {"value": numbers}


async def test_replacing_display_does_not_change_what_the_harness_shows():
    outcome = await execute(
        f"{MAKE} globalThis.display = () => {{ throw 1 }}; return {{ type: 'image', mimeType: 'image/png', data: png }}"
    )
    assert len(outcome.displayed) == 1


def test_code_that_displays_is_never_taken_from_the_cache():
    assert may_vary("display('a')") is not None
    assert may_vary("globalThis['dis' + 'play']('a')") is not None


async def test_a_resident_displays_nothing():
    from sandbox import DenoRuntime, ResidentProgram
    from tests.conftest import small

    async with DenoRuntime(small()) as runtime, runtime.resident(ResidentProgram(code="display('a')")) as resident:
        answer = await resident.handle([{"type": "a", "data": {}}], {})
    error = answer.answers[0].error
    assert error is not None
    assert error.type == ErrorType.LIMIT
    assert "this run may display 0 more" in error.message
