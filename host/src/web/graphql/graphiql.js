
const query = `# Every request needs an access token. \`kitbag token\` prints one: put it under "Headers" below,
#   { "Authorization": "Bearer eyJ…" }
# and reload the page, so that it learns the schema.

query Search($q: String!) {
  search(query: $q) {
    mode
    results {
      document { id title url source }
      snippet
    }
  }
}
`;
const page = React.createElement(GraphiQL, {
  fetcher: GraphiQL.createFetcher({ url: "/graphql" }),
  defaultQuery: query,
  variables: '{ "q": "what to look for" }',
  headers: '{ "Authorization": "Bearer " }',
  isHeadersEditorEnabled: true,
  defaultEditorToolsVisibility: "headers",
});
ReactDOM.createRoot(document.getElementById("graphiql")).render(page);
