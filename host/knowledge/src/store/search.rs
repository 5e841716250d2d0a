//! Reads data for searches, except the indexes.

use std::collections::{HashMap, HashSet};

use kitbag_database::{FromRow, Holder, list, sql};

use super::{Store, holders_list};
use crate::document::Query;

/// What a document is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, FromRow)]
pub(crate) struct DocumentName {
    pub(crate) sequence: i64,
    pub(crate) title: String,
    /// Name of the file, if it was ingested with one; usually without its extension.
    pub(crate) file_name: Option<String>,
    /// URL of the file or the original.
    pub(crate) url: Option<String>,
}

/// Filter by name, such as that of the source. Names are in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// Allowed names; empty: all.
    pub(crate) any_of: Vec<String>,
    pub(crate) none_of: Vec<String>,
}

impl Names {
    pub(crate) fn add(&mut self, name: &str, is_excluded: bool) {
        let names = if is_excluded { &mut self.none_of } else { &mut self.any_of };
        names.push(name.to_lowercase());
    }

    pub(crate) fn allow(&self, name: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|it| it == name);
        (self.any_of.is_empty() || has(&self.any_of)) && !has(&self.none_of)
    }
}

impl Store {
    /// Ids of the holders' documents with this source, this byline, or both, restricted to `sources`.
    pub(crate) async fn matching(
        &self,
        holders: &[Holder],
        query: &Query,
        Names { any_of, none_of }: &Names,
    ) -> kitbag_database::Result<HashSet<i64>> {
        let any_of = (!any_of.is_empty()).then(|| list(any_of));
        let documents: Vec<i64> = sql("SELECT sequence FROM documents
             WHERE holder IN (SELECT value FROM json_each($1)) AND ($2 IS NULL OR source = $2) AND ($3 IS NULL OR author_folded = $3)
                 AND ($4 IS NULL OR source IN (SELECT value FROM json_each($4)))
                 AND source NOT IN (SELECT value FROM json_each($5))")
        .bind(holders_list(holders))
        .bind(&query.source)
        .bind(query.author.as_ref().map(|author| author.to_lowercase()))
        .bind(any_of)
        .bind(list(none_of))
        .fetch_values(self.0.readers())
        .await?;
        Ok(documents.into_iter().collect())
    }

    /// Titles and names of files of some of the holders' documents.
    pub(crate) async fn names(
        &self,
        holders: &[Holder],
        documents: &[i64],
    ) -> kitbag_database::Result<Vec<DocumentName>> {
        sql("SELECT d.sequence, d.title, d.file_name, COALESCE(d.file_url, d.url) AS url
             FROM json_each($2) wanted CROSS JOIN documents d
             WHERE d.sequence = CAST(wanted.value AS BIGINT) AND d.holder IN (SELECT value FROM json_each($1))")
        .bind(holders_list(holders))
        .bind(list(documents))
        .fetch_all(self.0.readers())
        .await
    }

    /// Texts of some of the holders' chunks.
    pub(crate) async fn chunk_texts(
        &self,
        holders: &[Holder],
        chunks: &[i64],
    ) -> kitbag_database::Result<HashMap<i64, String>> {
        let texts: Vec<(i64, String)> =
            // `CROSS JOIN` fixes the order of the tables: otherwise SQLite would scan all chunks of the holders.
            sql("SELECT t.chunk, t.text
             FROM json_each($2) wanted CROSS JOIN chunks c CROSS JOIN chunk_texts t
             WHERE c.id = CAST(wanted.value AS BIGINT) AND c.holder IN (SELECT value FROM json_each($1)) AND t.chunk = c.id")
            .bind(holders_list(holders))
            .bind(list(chunks))
            .fetch_all(self.0.readers())
            .await?;
        Ok(texts.into_iter().collect())
    }
}
