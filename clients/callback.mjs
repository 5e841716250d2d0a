// OAuth redirect endpoint on loopback, for a single authorization response.

import { createServer } from "node:http";

export async function listen() {
  let answered;
  const answer = new Promise((resolve) => (answered = resolve));
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    response.setHeader("connection", "close");
    if (url.pathname !== "/callback") return response.writeHead(404).end();
    response.end("Done: go back to the client.\n", () => answered(url.searchParams));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  return { redirectUrl: `http://127.0.0.1:${port}/callback`, answer, close: () => server.close() };
}
