//! Prompts and resources of toolkits, and completion.
//!
//! ```text
//! kitbag://<toolkit>/<path>      a resource of a toolkit; the path is as its declaration says
//! ```
//!
//! Invariant: a prompt or resource that the client cannot see gets the same error as one that does not exist.

use std::fmt::Write as _;

use kitbag_access::values::dispatch::{ErrorCode, Failure, Reply, Success};
use kitbag_access::values::toolkits::names_of;
use kitbag_access::{CallError, Completed, PartlyTyped};
use kitbag_manifest::content::{Content, ContentBlock, MessageContent, PromptMessage};
use kitbag_manifest::offers::split_uri;
use kitbag_manifest::reply;
use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, GetPromptRequestParams,
    GetPromptResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult,
    Reference,
};
use serde_json::{Map, Value, json};

use super::catalogue::InvalidCursor;
use super::handler::Handler;
use super::{content, resources};

impl Handler {
    pub(super) fn list_prompts(&self, cursor: Option<&str>) -> Result<ListPromptsResult, ErrorData> {
        let ((prompts, bytes), next) =
            self.offers().prompts(cursor).map_err(|error| invalid_cursor(&error))?;
        self.share.expect_answer(bytes);
        let mut result = ListPromptsResult::with_all_items(prompts);
        result.next_cursor = next;
        Ok(result)
    }

    /// Lists the user's documents, then the toolkits' resources without variables.
    pub(super) async fn list_resources(
        &self,
        cursor: Option<&str>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let offers = self.offers();
        // Only the cursors of documents are numbers.
        let is_of_documents = cursor.is_none_or(|cursor| cursor.parse::<i64>().is_ok());
        let (mut result, cursor) = if self.sees_documents() && is_of_documents {
            let documents = resources::list(&self.user, cursor).await?;
            if documents.next_cursor.is_some() {
                return Ok(documents);
            }
            (documents, None)
        } else {
            (ListResourcesResult::default(), cursor)
        };
        let ((offered, bytes), next) = offers.resources(cursor).map_err(|error| invalid_cursor(&error))?;
        self.share.expect_answer(bytes);
        result.resources.extend(offered);
        result.next_cursor = next;
        Ok(result)
    }

    pub(super) fn list_templates(
        &self,
        cursor: Option<&str>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let ((offered, bytes), next) =
            self.offers().templates(cursor).map_err(|error| invalid_cursor(&error))?;
        self.share.expect_answer(bytes);
        let own = (self.sees_documents() && cursor.is_none()).then(resources::template);
        let mut result =
            ListResourceTemplatesResult::with_all_items(own.into_iter().chain(offered).collect());
        result.next_cursor = next;
        Ok(result)
    }

    pub(super) async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
    ) -> Result<GetPromptResult, ErrorData> {
        let user = &self.user;
        let names = names_of(&request.name).filter(|(toolkit, _)| self.chosen.has_offers_of(toolkit));
        let prompt = names.and_then(|(toolkit, name)| Some((toolkit, user.prompt(toolkit, name)?)));
        let Some((toolkit, prompt)) = prompt else { return Err(unknown_prompt(&request.name)) };
        let reply = user.get_prompt(&prompt, request.arguments.unwrap_or_default()).await;
        let success = self.succeeded(toolkit, reply)?;
        // LLM APIs refuse empty texts, and with them the rest of the conversation.
        let is_said = |message: &PromptMessage| !matches!(&message.content, MessageContent::Text(text) if text.is_empty());
        let convert = move || success.messages.into_iter().filter(is_said).map(content::message).collect();
        Ok(GetPromptResult::new(self.share.work(success.bytes, convert).await))
    }

    pub(super) async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, ErrorData> {
        let user = &self.user;
        if resources::is_document(uri) && self.sees_documents() {
            return resources::read(user, uri).await;
        }
        let parts = split_uri(uri).filter(|(toolkit, _)| self.chosen.has_offers_of(toolkit));
        let resource = parts.and_then(|(toolkit, path)| Some((toolkit, user.resource(toolkit, path)?)));
        let Some((toolkit, resource)) = resource else {
            return Err(resources::unknown(uri, "unknown resource"));
        };
        let reply = user.read_resource(&resource).await;
        let success = self.succeeded(toolkit, reply)?;
        let media_type = resource.media_type();
        let uri = uri.to_owned();
        let embedded = move |block: ContentBlock| match block.content {
            Content::Resource(mut read) => {
                read.media_type = read.media_type.or_else(|| media_type.clone());
                // The client's spelling: redaction may have changed the URI that the toolkit got.
                uri.clone_into(&mut read.uri);
                Some(content::embedded(read))
            }
            Content::Image(_) | Content::Audio(_) | Content::Link(_) => None,
        };
        let convert = move || success.content.into_iter().filter_map(embedded).collect();
        Ok(ReadResourceResult::new(self.share.work(success.bytes, convert).await))
    }

    pub(super) async fn complete(&self, request: CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let (unknown, found) = match &request.r#ref {
            Reference::Prompt(prompt) => {
                let found = names_of(&prompt.name);
                (unknown_prompt(&prompt.name), found.map(|(it, name)| (it, Completed::Prompt(name))))
            }
            Reference::Resource(resource) if resource.uri == resources::template().uri_template => {
                return Ok(CompleteResult::default());
            }
            Reference::Resource(resource) => {
                let found = split_uri(&resource.uri);
                let unknown = resources::unknown(&resource.uri, "unknown resource");
                (unknown, found.map(|(it, path)| (it, Completed::Resource(path))))
            }
            _ => return Err(ErrorData::invalid_params("ref is of a prompt or a resource", None)),
        };
        let found = found.filter(|(toolkit, _)| self.chosen.has_offers_of(toolkit));
        let Some((toolkit, completed)) = found else { return Err(unknown) };
        let others = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let others: Map<_, _> = others.into_iter().map(|(name, value)| (name, value.into())).collect();
        let ArgumentInfo { name, value, .. } = &request.argument;
        let user = &self.user;
        let reply =
            user.complete(toolkit, completed, PartlyTyped { argument: name, typed: value }, &others).await;
        let success = self.succeeded(toolkit, reply.ok_or(unknown)?)?;
        completion(success.structured.as_ref())
    }

    fn offers(&self) -> super::catalogue::Offers {
        self.endpoint.catalogue.offers(&self.user, &self.chosen)
    }

    /// Converts the result of a call. The error of a failure links to the page where the user can fix it, if
    /// any.
    fn succeeded(&self, toolkit: &str, reply: Result<Reply, CallError>) -> Result<Success, ErrorData> {
        match reply {
            Ok(Reply::Success(success)) => {
                self.share.expect_answer(success.bytes);
                Ok(success)
            }
            Ok(Reply::Failure(failure)) => {
                self.share.expect_answer(failure.envelope.error.len());
                Err(self.refused(toolkit, failure))
            }
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }

    fn refused(&self, toolkit: &str, mut failure: Failure) -> ErrorData {
        let missing = self.missing(toolkit, &failure);
        if !missing.is_empty() {
            let page = self.endpoint.elicitation.page_of(toolkit, &missing);
            // Writing to a string cannot fail.
            let _ = write!(failure.envelope.error, "\nOr on this page: {page}");
        }
        let reply::Failure { error: message, code, retryable, .. } = failure.envelope;
        match code {
            ErrorCode::InvalidParams => ErrorData::invalid_params(message, None),
            ErrorCode::ToolError => {
                ErrorData::internal_error(message, Some(json!({ "retryable": retryable })))
            }
        }
    }
}

/// Completion values, up to the maximum of the protocol.
fn completion(structured: Option<&Value>) -> Result<CompleteResult, ErrorData> {
    let all = structured.and_then(|it| it["values"].as_array());
    let all: Vec<_> = all.into_iter().flatten().filter_map(Value::as_str).collect();
    let values = all.iter().take(CompletionInfo::MAX_VALUES).map(|&value| value.to_owned()).collect();
    let total = u32::try_from(all.len()).ok();
    let info = CompletionInfo::with_pagination(values, total, all.len() > CompletionInfo::MAX_VALUES);
    info.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
}

fn unknown_prompt(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("unknown prompt: {name}"), None)
}

fn invalid_cursor(error: &InvalidCursor) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_a_hundred_values_and_the_number_of_all() {
        let values: Vec<_> = (0..10_000).map(|number| number.to_string()).collect();

        let completed = completion(Some(&json!({ "values": values }))).expect("it is cut").completion;

        assert_eq!(
            (completed.values.len(), completed.total, completed.has_more),
            (100, Some(10_000), Some(true))
        );
        let nothing = completion(None).expect("nothing is proposed").completion;
        assert_eq!((nothing.values.len(), nothing.total, nothing.has_more), (0, Some(0), Some(false)));
    }
}
