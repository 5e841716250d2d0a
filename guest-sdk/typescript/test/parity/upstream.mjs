// The HTTP server on loopback that the probe calls. `/redirect-away` leads to the port below, which the probe
// does not list.
import http from "node:http";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

export async function startUpstream(port) {
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://upstream");
    response.setHeader("x-upstream", "yes");
    const status = /^\/status\/(\d+)$/.exec(pathname);
    if (status) return response.writeHead(Number(status[1])).end(status[1] === "204" ? undefined : "the body");
    switch (pathname) {
      case "/echo":
        return echo(request, response);
      case "/json":
        return response.end('{"id":"a"}');
      case "/wrong":
        return response.end('{"id":7,"tags":["x",1]}');
      case "/html":
        return response.end("<html>");
      case "/redirect/echo":
        return response.writeHead(302, { location: "/echo" }).end();
      case "/redirect-away":
        return response.writeHead(302, { location: `http://127.0.0.1:${port - 1}/echo` }).end();
      case "/drop":
        return request.socket.destroy();
      case "/slow":
        return setTimeout(() => response.end("slow"), 200);
      case "/hang":
        return undefined;
      case "/drip": {
        const dripping = setInterval(() => response.write("drop "), 20);
        return request.socket.once("close", () => clearInterval(dripping));
      }
      case "/gzip":
        return response.setHeader("content-encoding", "gzip").end(gzipSync('{"id":"packed"}'));
      case "/br":
        return response.setHeader("content-encoding", "br").end(brotliCompressSync('{"id":"packed"}'));
      case "/deflate":
        return response.setHeader("content-encoding", "deflate").end(deflateSync('{"id":"packed"}'));
      case "/mark":
        return response.end('\ufeff{"id":"marked"}');
      case "/latin1":
        return response.end(Buffer.from('{"id":"caf\xe9"}', "latin1"));
      case "/long":
        return response.end("0123456789abcdef".repeat(5 << 16));
      case "/stream":
        response.write("one,");
        return setTimeout(() => response.end("two"), 50);
      default:
        return response.writeHead(404).end("no such page");
    }
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function echo(request, response) {
  let body = "";
  request.setEncoding("utf8").on("data", (text) => (body += text));
  request.on("end", () => {
    const { "user-agent": userAgent, "content-type": contentType, "accept-encoding": encodings } = request.headers;
    response.end(JSON.stringify({ method: request.method, url: request.url, userAgent, contentType, encodings, body }));
  });
}
