// Token that prevents other accounts of the machine, which can all reach loopback, from calling the toolkit.
import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** Format of a token: 128 bits as 32 hexadecimal digits. */
const TOKEN_FORMAT = /^[0-9a-f]{32}$/;
const OTHER_USERS_MODE = 0o077;

/**
 * Returns the user's token. It is stored in a file, so that a client has to be connected only once. If that fails,
 * returns a token for this run only.
 */
export async function devToken(state = process.env["XDG_STATE_HOME"] || join(homedir(), ".local/state")): Promise<string> {
  const file = join(state, "kitbag", "dev-token");
  const made = randomBytes(16).toString("hex");
  try {
    await mkdir(join(state, "kitbag"), { recursive: true, mode: 0o700 });
    // The complete file is linked only if there is none yet, so two processes that start at once use the same
    // token.
    const whole = `${file}.${made.slice(0, 8)}`;
    await writeFile(whole, `${made}\n`, { mode: 0o600, flag: "wx" });
    await link(whole, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    await unlink(whole);
    const kept = (await readFile(file, "utf8")).trim();
    const exposed = ((await stat(file)).mode & OTHER_USERS_MODE) !== 0;
    return TOKEN_FORMAT.test(kept) && !exposed ? kept : made;
  } catch {
    return made;
  }
}
