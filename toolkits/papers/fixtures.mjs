// Answers of arXiv's API in the shape that its manual gives.

const entry = ({ id, title, authors, primary, categories = [primary], more = "" }) => `
  <entry>
    <id>http://arxiv.org/abs/${id}</id>
    <updated>2023-08-02T00:41:18Z</updated>
    <published>2017-06-12T17:57:34Z</published>
    <title>${title}</title>
    <summary>  The dominant sequence transduction models are based on complex
recurrent or convolutional neural networks &amp; more.
</summary>
    ${authors.map((name) => `<author>\n      <name>${name}</name>\n      <arxiv:affiliation xmlns:arxiv="http://arxiv.org/schemas/atom">A lab</arxiv:affiliation>\n    </author>`).join("\n    ")}
    ${more}
    <link href="http://arxiv.org/abs/${id}" rel="alternate" type="text/html"/>
    <link title="pdf" href="http://arxiv.org/pdf/${id}" rel="related" type="application/pdf"/>
    <arxiv:primary_category xmlns:arxiv="http://arxiv.org/schemas/atom" term="${primary}" scheme="http://arxiv.org/schemas/atom"/>
    ${categories.map((term) => `<category term="${term}" scheme="http://arxiv.org/schemas/atom"/>`).join("\n    ")}
  </entry>`;

export const feed = (total, ...entries) => `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <link href="http://arxiv.org/api/query?search_query%3Dall:electron" rel="self" type="application/atom+xml"/>
  <title type="html">ArXiv Query: search_query=all:electron&amp;id_list=&amp;start=0&amp;max_results=1</title>
  <id>http://arxiv.org/api/cHxbiOdZaP56ODnBPIenZhzg5f8</id>
  <updated>2023-10-08T00:00:00-04:00</updated>
  <opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">${total}</opensearch:totalResults>
  <opensearch:startIndex xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">0</opensearch:startIndex>
  <opensearch:itemsPerPage xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">1</opensearch:itemsPerPage>${entries.join("")}
</feed>`;

export const attention = entry({
  id: "1706.03762v7",
  title: "Attention Is All\n  You Need",
  authors: ["Ashish Vaswani", "Noam Shazeer"],
  primary: "cs.CL",
  categories: ["cs.LG", "cs.CL"],
  more: `<arxiv:comment xmlns:arxiv="http://arxiv.org/schemas/atom">15 pages, 5 figures</arxiv:comment>
    <arxiv:journal_ref xmlns:arxiv="http://arxiv.org/schemas/atom">NeurIPS 30 (2017)</arxiv:journal_ref>
    <arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.1000/xyz</arxiv:doi>`,
});

export const large = entry({ id: "hep-ex/0307015", title: "Multi-electron production", authors: Array.from({ length: 300 }, (_, index) => `Author ${index}`), primary: "hep-ex" });

export const empty = feed(0);

/** Errors are entries, with the status 400. */
export const error = feed(1, `
  <entry>
    <id>http://arxiv.org/api/errors#incorrect_id_format_for_1234.12345</id>
    <title>Error</title>
    <summary>incorrect id format for 1234.12345</summary>
    <updated>2007-10-12T00:00:00-04:00</updated>
    <author><name>arXiv api core</name></author>
  </entry>`);
