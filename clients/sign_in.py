"""Signs in to a Kitbag server, given only its URL, with the Python SDK, and calls a tool before and
after its access token expires:

    .venv/bin/python sign_in.py URL TOOL ARGUMENTS

The SDK does discovery, registration, PKCE, tokens and renewal. Prints the page to open on standard
error, waits for the browser's redirect, and at the end prints one JSON object:
{ protocolVersion, scope, reply, again }.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

from mcp.client import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata


class Storage(TokenStorage):
    """What a client stores between runs."""

    tokens = None
    client_info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


class Callback:
    """OAuth redirect endpoint on loopback, for a single authorization response."""

    async def listen(self):
        self.answer = asyncio.get_running_loop().create_future()
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/callback"

    async def serve(self, reader, writer):
        target = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nDone\n")
        await writer.drain()
        writer.close()
        answer = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        if "code" in answer and not self.answer.done():
            self.answer.set_result(AuthorizationCodeResult(**answer))


async def open_page(page):
    print(f"open {page}", file=sys.stderr, flush=True)


async def main(url, tool, arguments):
    callback, storage = Callback(), Storage()
    redirect_uri = await callback.listen()
    auth = OAuthClientProvider(
        url,
        OAuthClientMetadata(client_name="Kitbag client", redirect_uris=[redirect_uri]),
        storage,
        redirect_handler=open_page,
        callback_handler=lambda: callback.answer,
    )
    async with (
        create_mcp_http_client(auth=auth) as http_client,
        Client(streamable_http_client(url, http_client=http_client)) as client,
    ):
        reply = await client.call_tool(tool, arguments)
        await asyncio.sleep(storage.tokens.expires_in + 1)
        again = await client.call_tool(tool, arguments)
        print(
            json.dumps(
                {
                    "protocolVersion": client.protocol_version,
                    "scope": storage.tokens.scope,
                    "reply": reply.model_dump(mode="json", by_alias=True),
                    "again": again.model_dump(mode="json", by_alias=True),
                }
            )
        )
    callback.server.close()


asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
