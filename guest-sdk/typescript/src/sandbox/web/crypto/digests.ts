// SHA (Web Cryptography API, section 30).
import { digest } from "kitbag:crypto";

import type { Algorithm } from "./algorithm.js";
import type { Hash } from "./key.js";

export const sha = (name: Hash): Algorithm => ({ name, members: { digest: {} }, digest: (data) => digest(name, data) });
