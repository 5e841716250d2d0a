// Reads the `auth` of a declaration: one sign-in or a list.
import type { ToolkitAuth } from "./types.js";

/** The parts of a declaration that name credentials. */
export interface Credentials {
  secrets?: readonly string[] | undefined;
  auth?: ToolkitAuth | readonly ToolkitAuth[] | undefined;
}

/** Returns the sign-ins of a declaration. */
export function signInsOf({ auth }: Credentials): readonly ToolkitAuth[] {
  if (auth === undefined) return [];
  return Array.isArray(auth) ? (auth as readonly ToolkitAuth[]) : [auth as ToolkitAuth];
}

/** Returns the names of all credentials that users can set: first those that handlers read, then those for `auth` only. */
export function credentialsOf(declaration: Credentials): string[] {
  return [...new Set([...(declaration.secrets ?? []), ...signInsOf(declaration).flatMap(secretsOf)])];
}

function secretsOf(auth: ToolkitAuth): string[] {
  switch (auth.type) {
    case "oauth2_client_credentials":
      return [auth.clientIdSecret, auth.clientSecretSecret];
    case "oauth2_authorization_code":
      return auth.clientSecretSecret === undefined ? [auth.clientIdSecret] : [auth.clientIdSecret, auth.clientSecretSecret];
    case "api_key":
      return [auth.secret];
    case "basic":
      return [auth.usernameSecret, auth.passwordSecret];
  }
}
