// Questions before something is changed in the user's name.
import { CannotAskError, ToolError, type ToolContext } from "kitbag/extend/toolkit";

/**
 * Asks the user whether to go on; throws where they say no. Where they cannot be asked, their client has shown them the call, as it
 * does for tools that change something.
 */
export async function confirm(ctx: ToolContext, message: string): Promise<void> {
  try {
    const { action } = await ctx.ask({ key: "confirm", message });
    if (action === "accept") return;
  } catch (error) {
    if (error instanceof CannotAskError) return;
    throw error;
  }
  throw new ToolError("The user was asked, and did not want it. Nothing was changed.");
}
