// `node --import kitbag/register --test`: lets Node.js run TypeScript, whatever its version.
import { register } from "node:module";

process.setSourceMapsEnabled(true);
register("./register/hooks.js", import.meta.url);
