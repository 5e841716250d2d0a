// Tries documents of real APIs: `node --import kitbag/register test/openapi/documents.mjs FOLDER…`, each the folder of a generated
// toolkit with a copy of its document, bundled, as `document.json`. Calls every tool twice, with few arguments and with all.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

import { dispatch } from "kitbag/extend/toolkit";

import { argumentsFor } from "./samples.mjs";
import { readRequest, standIn } from "./stand-in.mjs";

let failed = false;
for (const folder of process.argv.slice(2)) {
  const { default: toolkit } = await import(pathToFileURL(join(folder, "extension.ts")).href);
  const document = JSON.parse(readFileSync(join(folder, "document.json"), "utf8"));
  const [, base] = /baseUrl: "([^"]+)"/.exec(readFileSync(join(folder, "api.ts"), "utf8"));
  const auths = [toolkit.config.auth ?? []].flat();
  const check = standIn(document, { base, ignored: auths.flatMap((it) => (it.in === "query" ? [it.name] : [])) });
  const names = new Set([...(toolkit.config.secrets ?? []), ...auths.flatMap((it) => Object.entries(it).flatMap(([name, value]) => (/secret$/i.test(name) ? [value] : [])))]);
  const world = { secrets: Object.fromEntries([...names].map((name) => [name, `value-of-${name}`])), ...(auths.some((it) => it.type === "oauth2_authorization_code") && { account: "account-token" }) };
  const counts = { calls: 0, correct: 0, noSample: 0 };
  const problems = new Map();
  for (const tool of toolkit.manifest.tools) {
    for (const all of [false, true]) {
      let args;
      try {
        args = argumentsFor(tool.inputSchema, { all });
      } catch (error) {
        counts.noSample++;
        continue;
      }
      counts.calls++;
      let found = ["no request was sent"];
      const result = await dispatch(toolkit, {
        ...world,
        tool: tool.name,
        arguments: args,
        fetchImpl: async (url, init) => {
          if (auths.some((it) => it.type === "oauth2_client_credentials" && it.tokenUrl === String(url))) return Response.json({ access_token: "token", token_type: "Bearer", expires_in: 3600 });
          try {
            found = check(await readRequest(url, init));
          } catch (error) {
            found = [`the check failed: ${error.stack}`];
          }
          return new Response(null, { status: 204 });
        },
      });
      if (found.length === 0) counts.correct++;
      else for (const it of found) {
        const text = it === "no request was sent" ? `${tool.name}: ${result.ok ? "" : result.error} ${String(result.trace.failure ?? "")}` : it;
        problems.set(text.slice(0, 400), (problems.get(text) ?? 0) + 1);
      }
    }
  }
  console.log(`${folder}: ${toolkit.manifest.tools.length} tools, ${JSON.stringify(counts)}`);
  for (const text of [...problems.keys()].slice(0, Number(process.env.SHOWN ?? 12))) console.log(`  ${text}`);
  failed ||= problems.size > 0;
}
process.exitCode = failed ? 1 : 0;
