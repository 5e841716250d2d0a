// GitHub: issues, pull requests, code. Signs in by the account that the user connects, or by the user's own token.
import { defineToolkit } from "kitbag/extend/toolkit";

import { readFile, searchCode, searchRepositories } from "./code";
import { addComment, createIssue, readIssue, searchIssues } from "./issues";
import { issue, triage } from "./offers";
import { readPullRequest } from "./pulls";

export default defineToolkit({
  id: "github",
  name: "GitHub",
  description: "Searches and reads issues, pull requests and code on GitHub; creates issues and comments.",
  icon: "🐙",
  version: "1.0.0",
  author: "Kitbag",
  visibility: "shared",
  egress: ["api.github.com", "github.com"],
  // For users who prefer a token of their own to a connected account.
  secrets: ["GITHUB_TOKEN"],
  // An operator registers an OAuth App at GitHub and sets its two credentials, and each user connects an account. The toolkit
  // sees neither the credentials nor the token.
  auth: {
    type: "oauth2_authorization_code",
    apiHost: "api.github.com",
    authorizationUrl: "https://github.com/login/oauth/authorize",
    tokenUrl: "https://github.com/login/oauth/access_token",
    clientIdSecret: "GITHUB_CLIENT_ID",
    clientSecretSecret: "GITHUB_CLIENT_SECRET",
    // Private repositories, too; for public ones alone: "public_repo".
    scope: "repo",
    clientAuth: "post",
  },
  // Before it creates an issue.
  scopes: ["svc:ask"],
  tools: [searchIssues, readIssue, readPullRequest, readFile, searchRepositories, searchCode, createIssue, addComment],
  prompts: [triage],
  resources: [issue],
});
