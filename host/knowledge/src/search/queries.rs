//! Cache of query vectors, for further pages of the same results.

use std::time::Duration;

use moka::future::Cache;

use crate::embedding::{EmbedError, Embedder};

/// Embeds queries, with a cache.
pub(super) struct Queries {
    embedder: Embedder,
    /// Cached vectors by user and text: response times must not reveal what others search for.
    known: Cache<(String, String), Vec<f32>>,
}

const MAX_KNOWN: u64 = 1024;
const IDLE_TIMEOUT: Duration = Duration::from_mins(10);

impl Queries {
    pub(super) fn new(embedder: Embedder) -> Self {
        let known = Cache::builder().max_capacity(MAX_KNOWN).time_to_idle(IDLE_TIMEOUT).build();
        Self { embedder, known }
    }

    /// Vector of a query.
    pub(super) async fn vector(&self, user_id: &str, text: &str) -> Result<Vec<f32>, EmbedError> {
        let key = (user_id.to_owned(), text.to_owned());
        if let Some(vector) = self.known.get(&key).await {
            return Ok(vector);
        }
        let vector = self.embedder.query(user_id, key.1.clone()).await?;
        self.known.insert(key, vector.clone()).await;
        Ok(vector)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Response;
    use http_body_util::Full;
    use kitbag_net::egress::test_server::TestServer;
    use kitbag_net::egress::{Egress, EgressSettings};

    use super::*;
    use crate::embedding::Endpoint;

    #[tokio::test]
    async fn a_query_is_embedded_once_for_each_user() {
        let answer = r#"{"data":[{"index":0,"embedding":[3.0,4.0]}]}"#;
        let server = TestServer::start(move |_| Response::new(Full::new(Bytes::from(answer)))).await;
        let endpoint = Endpoint {
            url: format!("{}/v1/embeddings", server.origin()).parse().expect("a URL"),
            model: "small".to_owned(),
            key: None,
        };
        let queries = Queries::new(Embedder::remote(Egress::new(EgressSettings::default()), endpoint));

        for (user, asked) in [("ana", 1), ("ana", 1), ("ben", 2), ("ana", 2)] {
            let vector = queries.vector(user, "wings").await.expect("it answers");

            assert_eq!((vector, server.received().len()), (vec![0.6, 0.8], asked), "{user}");
        }
        queries.vector("ana", "flow").await.expect("it answers");
        assert_eq!(server.received().len(), 3);
    }
}
