// Answers of GitHub's REST API in the shapes that its documentation gives (version 2022-11-28), shortened.

const user = (login) => ({ login, id: 1, node_id: "MDQ6VXNlcjE=", type: "User", site_admin: false, html_url: `https://github.com/${login}` });

export const issue = {
  id: 1,
  node_id: "MDU6SXNzdWUx",
  url: "https://api.github.com/repos/octocat/Hello-World/issues/1347",
  repository_url: "https://api.github.com/repos/octocat/Hello-World",
  html_url: "https://github.com/octocat/Hello-World/issues/1347",
  number: 1347,
  state: "open",
  state_reason: null,
  title: "Found a bug",
  body: "I'm having a problem with this.",
  user: user("octocat"),
  labels: [{ id: 208045946, name: "bug", description: "Something isn't working", color: "f29513", default: true }],
  assignees: [user("hubot")],
  milestone: null,
  locked: false,
  comments: 31,
  closed_at: null,
  created_at: "2011-04-22T13:33:48Z",
  updated_at: "2011-04-23T13:33:48Z",
  author_association: "COLLABORATOR",
};

export const pullAsIssue = {
  ...issue,
  number: 1348,
  state: "closed",
  title: "Amazing new feature",
  html_url: "https://github.com/octocat/Hello-World/pull/1348",
  user: null,
  labels: [],
  comments: 0,
  pull_request: { url: "https://api.github.com/repos/octocat/Hello-World/pulls/1348", merged_at: "2011-04-24T13:33:48Z" },
};

export const search = (...items) => ({ total_count: items.length, incomplete_results: false, items: items.map((it) => ({ ...it, score: 1 })) });

export const comment = {
  id: 1,
  html_url: "https://github.com/octocat/Hello-World/issues/1347#issuecomment-1",
  body: "Me too",
  user: user("hubot"),
  created_at: "2011-04-14T16:00:49Z",
  updated_at: "2011-04-14T16:00:49Z",
  author_association: "COLLABORATOR",
};

export const pull = {
  url: "https://api.github.com/repos/octocat/Hello-World/pulls/1347",
  html_url: "https://github.com/octocat/Hello-World/pull/1347",
  number: 1347,
  state: "open",
  locked: false,
  title: "Amazing new feature",
  user: user("octocat"),
  body: "Please pull these awesome changes in!",
  created_at: "2011-01-26T19:01:12Z",
  updated_at: "2011-01-26T19:01:12Z",
  merged_at: null,
  draft: false,
  merged: false,
  mergeable: null,
  head: { label: "octocat:new-topic", ref: "new-topic", sha: "6dcb09b5b57875f334f61aebed695e2e4193db5e", user: user("octocat"), repo: null },
  base: { label: "octocat:master", ref: "master", sha: "c5b97d5ae6c19d5c5df71a34c7fbeeda2479ccbc", user: user("octocat"), repo: null },
  commits: 3,
  additions: 100,
  deletions: 3,
  changed_files: 2,
};

export const file = {
  sha: "bbcd538c8e72b8c175046e27cc8f907076331401",
  filename: "file1.txt",
  status: "added",
  additions: 103,
  deletions: 21,
  changes: 124,
  blob_url: "https://github.com/octocat/Hello-World/blob/6dcb09b5b57875f334f61aebed695e2e4193db5e/file1.txt",
  patch: "@@ -132,7 +132,7 @@ module Test @@ -1000,7 +1000,7 @@ module Test",
};

/** A binary file has no patch. */
export const renamed = { ...file, filename: "logo.png", previous_filename: "icon.png", status: "renamed", additions: 0, deletions: 0, patch: undefined };

export const content = (text) => ({
  type: "file",
  encoding: "base64",
  size: text.length,
  name: "README.md",
  path: "README.md",
  // GitHub breaks base64 into lines.
  content: Buffer.from(text).toString("base64").replace(/.{60}/g, "$&\n"),
  sha: "3d21ec53a331a6f037a91c368710b99387d012c1",
  html_url: "https://github.com/octokit/octokit.rb/blob/master/README.md",
  download_url: "https://raw.githubusercontent.com/octokit/octokit.rb/master/README.md",
});

/** Of files beyond a megabyte, the API sends no content. */
export const largeContent = { ...content(""), size: 2_000_000, encoding: "none", content: "", path: "data.csv", name: "data.csv" };

export const folder = {
  type: "dir",
  size: 0,
  name: "lib",
  path: "lib",
  sha: "a84d88e7554fc1fa21bcbc4efae3c782a70d2b9d",
  html_url: "https://github.com/octokit/octokit.rb/tree/master/lib",
  entries: [
    { type: "file", size: 625, name: "octokit.rb", path: "lib/octokit.rb", sha: "fff6fe3a23bf1c8ea0692b4a883af99bee26fd3b" },
    { type: "dir", size: 0, name: "octokit", path: "lib/octokit", sha: "a84d88e7554fc1fa21bcbc4efae3c782a70d2b9d" },
  ],
};

export const submodule = {
  type: "submodule",
  size: 0,
  name: "jquery",
  path: "jquery",
  submodule_git_url: "https://github.com/jquery/jquery.git",
  html_url: "https://github.com/jquery/jquery/tree/6498eb3edcc67c1eb6c6b5c6bbcd6e5ac3a5e6e5",
};

export const repositories = {
  total_count: 1200,
  incomplete_results: false,
  items: [
    {
      id: 3081286,
      full_name: "dtrupenn/Tetris",
      private: false,
      html_url: "https://github.com/dtrupenn/Tetris",
      description: "A C implementation of Tetris using Pennsim through LC4",
      pushed_at: "2012-01-01T00:31:50Z",
      stargazers_count: 1,
      language: "Assembly",
      archived: true,
      default_branch: "master",
      score: 1,
    },
  ],
};

export const code = {
  total_count: 1,
  incomplete_results: false,
  items: [
    {
      name: "classes.js",
      path: "src/attributes/classes.js",
      html_url: "https://github.com/jquery/jquery/blob/825ac3773694e0cd23ee74895fd5aeb535b27da4/src/attributes/classes.js",
      repository: { id: 167174, full_name: "jquery/jquery", private: false },
      score: 1,
      text_matches: [{ object_type: "FileContent", property: "content", fragment: "jQuery.fn.extend( {\n\taddClass: function( value ) {", matches: [{ text: "addClass", indices: [22, 30] }] }],
    },
  ],
};

const documentation = "https://docs.github.com/rest";

/** Errors: status, body, and headers where they say more. */
export const errors = {
  badCredentials: [401, { message: "Bad credentials", documentation_url: documentation, status: "401" }],
  hourlyLimit: [403, { message: "API rate limit exceeded for 203.0.113.7.", documentation_url: documentation }, { "x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767225600" }],
  secondaryLimit: [403, { message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", documentation_url: documentation }, { "retry-after": "60" }],
  tooMany: [429, { message: "Too many requests" }],
  notPermitted: [403, { message: "Resource not accessible by personal access token", documentation_url: documentation, status: "403" }, { "x-ratelimit-remaining": "4999", "x-ratelimit-reset": "1767225600" }],
  singleSignOn: [403, { message: "Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization.", documentation_url: documentation }, { "x-github-sso": "required; url=https://github.com/orgs/octodocs-test/sso?authorization_request=AZSCKtL4U8yX1H3sCQIVnVgmjmon5fWxks5YrqhJgah0b2tlbl9pZM4EuMz4" }],
  notFound: [404, { message: "Not Found", documentation_url: documentation, status: "404" }],
  gone: [410, { message: "Issues are disabled for this repo", documentation_url: documentation, status: "410" }],
  invalid: [422, { message: "Validation Failed", errors: [{ resource: "Issue", field: "title", code: "missing_field" }], documentation_url: documentation, status: "422" }],
  invalidSearch: [422, { message: "Validation Failed", errors: [{ message: "The listed users and repositories cannot be searched either because the resources do not exist or you do not have permission to view them.", resource: "Search", field: "q", code: "invalid" }], documentation_url: documentation, status: "422" }],
  unavailable: [503, "<html><body>Unicorn!</body></html>"],
};
