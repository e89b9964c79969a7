"""Real clients against a real server: `cargo xtask test --clients` runs it.

Usage: run.py PROGRAM NODE_FOLDER, the folder where npm installed its packages. Starts `PROGRAM serve` in a home of its own with the built-in model, lets each
client ask for everything that it knows, and prints a table. Screenshots of the page on a phone are kept beside that folder.
Exits with 1 where something failed.
"""

import asyncio
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import mcp
import openai
import webuiapi
from mcp.client import stdio, streamable_http
from PIL import Image

RESULTS = []
# Programs on this computer need none, and may bring one.
TOKEN = "a-token-of-the-clients"


def check(client, what, ask, holds=lambda answer: True):
    """Asks, and notes whether the answer is as it should be."""
    try:
        answer = ask()
        passed, why = bool(holds(answer)), "" if holds(answer) else f"answered {str(answer)[:200]}"
    except Exception as error:  # Whatever a client raises is the result.
        passed, why = False, f"{type(error).__name__}: {str(error)[:200]}"
    RESULTS.append((client, what, passed, why))


def fails(kind, ask):
    """The failure of a request that must fail in this way."""
    try:
        ask()
    except kind as error:
        return error
    raise AssertionError("it did not fail")


def picture(mode="RGB"):
    return Image.new(mode, (64, 64), 0)


def png(mode="RGB"):
    file = io.BytesIO()
    picture(mode).save(file, "PNG")
    file.seek(0)
    file.name = "a.png"
    return file


def of_webuiapi(host, port):
    api = webuiapi.WebUIApi(host=host, port=port, sampler="Euler a", steps=2)

    def one(ask, size=(64, 64)):
        return lambda: ask().images, lambda images: [image.size for image in images] == [size]

    check("webuiapi", "txt2img", *one(lambda: api.txt2img(prompt="a lake", width=64, height=64, seed=5)))
    same = lambda: [api.txt2img(prompt="a lake", width=64, height=64, seed=5).image.tobytes() for _ in range(2)]
    check("webuiapi", "the same seed", same, lambda images: images[0] == images[1])
    check("webuiapi", "img2img", *one(lambda: api.img2img(images=[picture()], prompt="b", width=64, height=64)))
    masked = lambda: api.img2img(images=[picture()], prompt="b", mask_image=Image.new("L", (64, 64), 255), inpainting_fill=1, width=64, height=64)
    check("webuiapi", "img2img with a mask", *one(masked))
    extra = lambda: api.extra_single_image(picture(), upscaler_1="Lanczos", upscaling_resize=2).image.size
    check("webuiapi", "extra_single_image", extra, lambda size: size == (128, 128))
    check("webuiapi", "extra_batch_images", lambda: api.extra_batch_images([picture()], upscaler_1="Lanczos").images, lambda it: len(it) == 1)
    check("webuiapi", "png_info", lambda: api.png_info(api.txt2img(prompt="a pond", width=64, height=64).image))
    for name in [
        "get_options", "get_progress", "get_samplers", "get_schedulers", "get_upscalers", "get_latent_upscale_modes", "get_sd_models",
        "get_sd_vae", "get_loras", "get_embeddings", "get_memory", "get_cmd_flags", "get_scripts", "get_prompt_styles",
        "get_face_restorers", "interrupt", "skip", "refresh_checkpoints", "util_get_current_model", "util_get_model_names",
        "util_wait_for_ready", "controlnet_version", "controlnet_model_list", "controlnet_module_list",
    ]:
        check("webuiapi", name, lambda name=name: getattr(api, name)() or True)
    unit = webuiapi.ControlNetUnit(image=picture(), module="canny", model="control_canny [12345678]")
    for what, ask, status, why in [
        ("a ControlNet that is not here", lambda: api.txt2img(prompt="a", width=64, height=64, controlnet_units=[unit]), 404, "ControlNet not found"),
        ("interrogate", lambda: api.interrogate(picture()), 404, "Model not found"),
        ("controlnet_detect", lambda: api.controlnet_detect(images=[picture()]), 422, "controlnet_module"),
    ]:
        check("webuiapi", what, lambda ask=ask: fails(RuntimeError, ask).args,
              lambda it, status=status, why=why: it[0] == status and why in it[1])
    authorised = webuiapi.WebUIApi(host=host, port=port)
    authorised.set_auth("user", TOKEN)
    check("webuiapi", "set_auth", authorised.get_options, lambda options: options["samples_format"] == "png")
    check("webuiapi", "util_set_model", lambda: api.util_set_model(api.util_get_model_names()[0]) or True)


def interrupted(address, ask):
    """The failure of a picture that somebody stops once its first step is done."""
    found = []
    asking = threading.Thread(target=lambda: found.append(fails(openai.InternalServerError, ask)))
    asking.start()
    while asking.is_alive():
        with urllib.request.urlopen(f"{address}/sdapi/v1/progress") as progress:
            if b'"sampling_step":0' not in progress.read():
                break
        time.sleep(0.05)
    urllib.request.urlopen(urllib.request.Request(f"{address}/sdapi/v1/interrupt", method="POST")).close()
    asking.join()
    return found[0]


def of_openai(host, port):
    sent = []
    counting = openai.DefaultHttpxClient(event_hooks={"request": [sent.append]})
    client = openai.OpenAI(base_url=f"http://{host}:{port}/v1", api_key="none", timeout=600, http_client=counting)
    small = {"size": "64x64", "extra_body": {"steps": 2, "seed": 7}}
    check("openai", "models.list", lambda: [model.id for model in client.models.list()], lambda names: names)
    check("openai", "models.retrieve", lambda: client.models.retrieve(client.models.list().data[0].id).object, lambda it: it == "model")
    check("openai", "generate from a prompt alone", lambda: client.images.generate(prompt="a lake").data, lambda it: len(it) == 1)
    check("openai", "generate two", lambda: client.images.generate(prompt="a lake", n=2, **small).data, lambda it: len(it) == 2)
    check("openai", "generate with everything", lambda: client.images.generate(
        prompt="a lake", model="gpt-image-1", quality="high", background="auto", output_format="webp", output_compression=80,
        moderation="low", user="u", response_format="b64_json", style="vivid", **small).data[0].b64_json, lambda it: it.startswith("UklGR"))
    events = lambda ask: lambda: [event.type for event in ask()]
    check("openai", "generate as a stream", events(lambda: client.images.generate(prompt="a lake", stream=True, partial_images=2, **small)),
          lambda names: names[-1] == "image_generation.completed")
    check("openai", "edit", lambda: client.images.edit(image=png(), prompt="red", **small).data, lambda it: len(it) == 1)
    check("openai", "edit two with a mask", lambda: client.images.edit(image=[png(), png()], mask=png("RGBA"), prompt="red", input_fidelity="high", **small).data,
          lambda it: len(it) == 1)
    check("openai", "edit as a stream", events(lambda: client.images.edit(image=png(), prompt="red", stream=True, partial_images=1, **small)),
          lambda names: names[-1] == "image_edit.completed")
    check("openai", "create_variation", lambda: client.images.create_variation(image=png(), n=1, size="256x256").data, lambda it: len(it) == 1)
    check("openai", "an unknown model", lambda: fails(openai.NotFoundError, lambda: client.images.generate(prompt="a", model="nobody")),
          lambda error: error.code == "model_not_found")
    check("openai", "a size that is none", lambda: fails(openai.BadRequestError, lambda: client.images.generate(prompt="a", size="9x9")),
          lambda error: error.param == "size")
    long = lambda: client.images.generate(prompt="a long way", size="512x512", extra_body={"steps": 150})

    def requests_of_a_failure():
        before = len(sent)
        interrupted(f"http://{host}:{port}", long)
        return len(sent) - before

    # By itself it asks three times.
    check("openai", "a failure is asked for once", requests_of_a_failure, lambda count: count == 1)
    check("openai", "an unknown route", lambda: fails(openai.NotFoundError, lambda: client.get("/nothing", cast_to=object)))


def of_node(client, script, folder, count, *arguments):
    """A script of ours round a package of npm: it must say so many lines, each of which is a check."""
    # Node looks for packages beside the script.
    script = shutil.copy(pathlib.Path(__file__).with_name(script), folder)
    told = subprocess.run(["node", script, *arguments], capture_output=True, text=True, timeout=1200)
    # The packages warn on the same output.
    lines = [line.split("\t", 1) for line in told.stdout.splitlines() if "\t" in line]
    check(client, "the script", lambda: (told.returncode, len(lines), told.stderr[-500:]), lambda it: it[:2] == (0, count))
    for what, said in lines:
        check(client, what, lambda said=said: said, lambda said: said == "ok")


async def talk(transport):
    """What an agent's program does: the version, the names of the tools, and the blocks of a picture."""
    async with transport as streams, mcp.ClientSession(streams[0], streams[1]) as session:
        started = await session.initialize()
        tools = (await session.list_tools()).tools
        arguments = {"prompt": "a lake", "width": 64, "height": 64, "steps": 2}
        made = await session.call_tool("generate_image", arguments)
        refused = await session.call_tool("generate_image", {"prompt": "a", "model": "nobody"})
        is_error = lambda result: getattr(result, "isError", None) or getattr(result, "is_error", False)
        return {
            "protocol": getattr(started, "protocolVersion", None) or getattr(started, "protocol_version", None),
            "tools": [tool.name for tool in tools],
            "blocks": [block.type for block in made.content],
            "errors": [bool(is_error(made)), bool(is_error(refused))],
        }


def of_mcp(address, program, environment):
    parameters = mcp.StdioServerParameters(command=program, args=["mcp", "--threads", "1"], env=environment)
    http = getattr(streamable_http, "streamable_http_client", None) or streamable_http.streamablehttp_client
    is_right = lambda it: it["protocol"] and "generate_image" in it["tools"] and it["blocks"][:2] == ["image", "text"] and it["errors"] == [False, True]
    check("mcp", "over HTTP", lambda: asyncio.run(talk(http(f"{address}/mcp"))), is_right)
    check("mcp", "over standard input and output", lambda: asyncio.run(talk(stdio.stdio_client(parameters))), is_right)


def main():
    screenshots = pathlib.Path(sys.argv[2]).parent / "phone"
    with tempfile.TemporaryDirectory() as home:
        command = [sys.argv[1], "serve", "--port", "0", "--threads", "1", "--token", TOKEN]
        environment = {**os.environ, "ATELIER_HOME": home}
        server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().strip()
            host, port = address.removeprefix("http://").rsplit(":", 1)
            of_webuiapi(host, int(port))
            of_openai(host, int(port))
            of_node("ai", "ai.mjs", sys.argv[2], 5, address)
            of_node("node-sd-webui", "sdwebui.mjs", sys.argv[2], 4, address)
            of_node("stable-diffusion-api", "sdapi.mjs", sys.argv[2], 28, address, TOKEN)
            of_node("sillytavern", "sillytavern.mjs", sys.argv[2], 20, address, TOKEN)
            of_node("phone", "phone.mjs", sys.argv[2], 16, address, TOKEN, screenshots)
            of_mcp(address, sys.argv[1], environment)
        finally:
            server.terminate()
            server.wait(60)
    first, width = (max(len(result[column]) for result in RESULTS) for column in (0, 1))
    for client, what, passed, why in RESULTS:
        print(f"{client:{first}} {what:{width}} {'ok' if passed else 'FAILED'} {why}")
    failed = sum(not passed for _, _, passed, _ in RESULTS)
    print(f"{len(RESULTS) - failed} of {len(RESULTS)} are answered as they should be. The page on a phone: {screenshots}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
