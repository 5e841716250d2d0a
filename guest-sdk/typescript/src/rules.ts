import { auth, hosts } from "./rules/egress.js";
import { config as settings, identity, scopes, secrets, tools, visibility } from "./rules/fields.js";
import { DeclarationError, Report, type Problem } from "./rules/problems.js";

export { DeclarationError, type Problem };

const FIELDS = [
  "id", "name", "description", "icon", "version", "author", "tools",
  "secrets", "egress", "scopes", "config", "visibility", "auth",
];

/** Returns everything that is wrong with a declaration, in the order of its fields. */
export function problemsOf(declared: unknown): Problem[] {
  const report = new Report();
  const config = report.object("(root)", declared);
  if (config === undefined) return report.problems;
  identity(config, report);
  tools(config.tools, config.id, report);
  const names = secrets(config.secrets, report);
  const egress = hosts(config.egress, report);
  scopes(config.scopes, report);
  settings(config.config, report);
  visibility(config.visibility, report);
  auth(config.auth, egress, names, report);
  report.unknown("", config, FIELDS);
  return report.problems;
}

/** Refuses a declaration that breaks a rule, naming all of them. */
export function validate(declared: unknown): void {
  const problems = problemsOf(declared);
  if (problems.length > 0) {
    const id = typeof declared === "object" && declared !== null ? (declared as { id?: unknown }).id : undefined;
    throw new DeclarationError(id, problems);
  }
}
