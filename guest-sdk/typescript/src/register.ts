// `node --import kitbag/register --test`: runs TypeScript in any supported version of Node.js.
import { register } from "node:module";

process.setSourceMapsEnabled(true);
register("./register/hooks.js", import.meta.url);
