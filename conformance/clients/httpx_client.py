"""httpx. Arguments: the version of HTTP, the URL of the server, the id of streams, the file of
the authority. It has no trailers, and sends a request whole before it reads the response."""

import asyncio
import ssl
import sys

import httpx

VERSION, BASE, ID, CA = sys.argv[1:]
PATIENCE = 30
BLOB = "".join(f"{i}," for i in range(800_000))[: 5 << 20]


def same(got, want):
    assert got == want, f"got {got[:99]!r}, want {want[:99]!r}"


def client(**options):
    options.setdefault("verify", ssl.create_default_context(cafile=CA))
    return httpx.AsyncClient(base_url=BASE, http1=VERSION == "1", http2=VERSION == "2", timeout=PATIENCE, **options)


async def get(c):
    same((await c.get("/hello")).text, {"1": "HTTP/1.1", "2": "HTTP/2.0"}[VERSION])


async def post(c):
    same((await c.post("/echo", content=BLOB)).text, BLOB)


async def many(c):
    answers = await asyncio.gather(*(c.get(f"/small/{i}?id={ID}") for i in range(200)))
    for i, answer in enumerate(answers):
        same(answer.text, str(i))
    print("#", (await c.get(f"/peers?id={ID}")).text, "connections")


async def stream(c):
    n = 0
    async with c.stream("GET", f"/stream?id={ID}") as response:
        async for line in response.aiter_lines():
            same(line, f"part {n}")
            n += 1
            await c.get(f"/next?id={ID}")
    assert n == 3, f"{n} parts"


async def ca(_):
    async with client(verify=ssl.create_default_context()) as stranger:
        try:
            await stranger.get("/hello")
        except httpx.ConnectError as e:
            assert "CERTIFICATE_VERIFY_FAILED" in str(e), e
            return
    raise AssertionError("it connected")


async def main():
    print("# httpx", httpx.__version__, "Python", sys.version.split()[0])
    failed = False
    async with client() as c:
        for case in (get, post, many, stream, ca):
            try:
                await asyncio.wait_for(case(c), PATIENCE)
                print("ok", case.__name__)
            except Exception as e:
                failed = True
                print(f"not ok {case.__name__}: {e!r}")
    return failed


sys.exit(asyncio.run(main()))
