import { parseArgs } from "node:util";

import { BuildFailure } from "../build/failure.js";
import { limitsOfCalls } from "../rules.js";
import { terminal } from "./console.js";
import { develop } from "./develop.js";
import { listenAddress } from "./server.js";
import { devToken } from "./token.js";
import { readSettings } from "./world.js";

const USAGE = `Serve an extension.ts over MCP on this machine, and again after each change

Usage: npx kitbag dev [OPTIONS] [PATH]

Arguments:
  [PATH]  An extension.ts, or the folder that holds one [default: .]

Options:
      --listen <ADDRESS>              Loopback address to listen on [default: 127.0.0.1:8788]
      --env-file <FILE>               Lines NAME=value: the credentials that the toolkit declares, and as KITBAG_ACCOUNT
                                      the access token that stands for a connected account
      --config <KEY=VALUE>            A setting, as a user would set it; may be given several times
      --allow-private-ranges <RANGE>  Addresses that requests may reach although they are not public, such as 127.0.0.0/8
      --call-time <SECONDS>           How long a call may take [default: as long as on a server, 30]
      --until-eof                     End when standard input does
  -h, --help                          Print help
`;

/** Runs the command line until it is asked to stop, and returns the exit code. */
export async function main(args: string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        listen: { type: "string", default: "127.0.0.1:8788" },
        "env-file": { type: "string" },
        config: { type: "string", multiple: true, default: [] },
        "allow-private-ranges": { type: "string", multiple: true, default: [] },
        "call-time": { type: "string" },
        "until-eof": { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      return 0;
    }
    if (positionals.length > 1) throw new BuildFailure("usage", "one path at a time");
    const callTime = values["call-time"] === undefined ? limitsOfCalls().callTime : Number(values["call-time"]) * 1000;
    if (!(callTime >= 1 && callTime <= 3_600_000)) throw new BuildFailure("usage", "--call-time takes seconds, at most an hour of them");
    const options = {
      listen: listenAddress(values.listen),
      token: await devToken(),
      envFile: values["env-file"],
      settings: readSettings(values.config),
      allowedRanges: values["allow-private-ranges"].flatMap((it) => it.split(",")),
      callTime,
    };
    const stopped = stop(values["until-eof"] === true);
    const development = await develop(positionals[0] ?? ".", options, terminal);
    await stopped;
    await development.close();
    // A type check of an older version may still be running.
    process.exit(0);
  } catch (error) {
    const usage = error instanceof BuildFailure || (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS") === true;
    console.error(`error: ${usage ? (error as Error).message : ((error as Error).stack ?? String(error))}`);
    return usage ? 2 : 3;
  } finally {
    // An open standard input would keep the process alive.
    process.stdin.destroy();
  }
}

/**
 * Resolves at SIGINT or SIGTERM, or at the end of standard input if asked. The same signal again ends the
 * process at once.
 */
function stop(atEndOfInput: boolean): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
    if (atEndOfInput) process.stdin.once("close", resolve).once("end", resolve).resume();
  });
}
