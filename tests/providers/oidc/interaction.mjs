// The page of a user at the provider of a test: asks for a name, and grants the requested scopes.

/** Answers a request below /interaction/; `resource` is the one that scopes are granted for, if there is one. */
export async function interact(provider, request, response, resource) {
  const { prompt, params, session, uid } = await provider.interactionDetails(request, response);
  if (request.method === "GET") {
    response.setHeader("content-type", "text/html");
    response.end(`<form method="post" action="/interaction/${uid}"><input name="user"><button>Allow</button></form>`);
    return;
  }
  let body = "";
  for await (const chunk of request) body += chunk;
  const accountId = session?.accountId ?? new URLSearchParams(body).get("user");
  const grant = new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  if (resource) grant.addResourceScope(resource, params.scope);
  const result = { login: { accountId }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: prompt.name === "consent" });
}
