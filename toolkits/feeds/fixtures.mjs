// Feeds in the shapes of RSS 2.0, RSS 1.0, Atom (RFC 4287) and JSON Feed 1.1, with the modules that real ones use.

export const rss = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom">
<channel>
  <title>Liftoff &amp; News</title>
  <link>https://xkcd.com/</link>
  <description>Liftoff to Space Exploration.</description>
  <atom:link href="https://xkcd.com/rss.xml" rel="self" type="application/rss+xml"/>
  <item>
    <title>Star City</title>
    <link>https://xkcd.com/news/2003/star-city</link>
    <description>How do Americans get ready?</description>
    <content:encoded><![CDATA[<h2>Culture</h2><p>Language &amp; protocol&nbsp;at <a href="http://howe.example/">Star City</a>.</p><script>alert(1)</script><ul><li>one</li><li>two</li></ul>]]></content:encoded>
    <dc:creator>Ana Example</dc:creator>
    <pubDate>Tue, 03 Jun 2003 09:39:21 GMT</pubDate>
    <guid>https://xkcd.com/2003/06/03.html#item573</guid>
  </item>
  <item>
    <description>Sky watchers in Europe, Asia, and parts of Alaska &lt;b&gt;will&lt;/b&gt; experience a partial eclipse.</description>
    <pubDate>Fri, 30 May 2003 06:06:42 EST</pubDate>
    <guid isPermaLink="true">https://xkcd.com/2003/05/30.html</guid>
  </item>
  <item>
    <title>Undated</title>
    <link>ftp://xkcd.com/file</link>
    <description/>
  </item>
</channel>
</rss>`;

export const rdf = `<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
  <channel rdf:about="https://lwn.net/headlines/rss"><title>LWN.net</title><link>https://lwn.net</link></channel>
  <item rdf:about="https://lwn.net/Articles/1/"><title>Kernel prepatch</title><link>https://lwn.net/Articles/1/</link><dc:date>2024-05-06T07:08:09+00:00</dc:date><dc:creator>corbet</dc:creator></item>
</rdf:RDF>`;

export const atom = `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://simonwillison.net/">
  <title type="html">dive &lt;em&gt;into&lt;/em&gt; mark</title>
  <updated>2005-07-31T12:29:29Z</updated>
  <id>tag:example.org,2003:3</id>
  <author><name>Mark Pilgrim</name></author>
  <link rel="alternate" type="text/html" href="/"/>
  <link rel="self" href="https://simonwillison.net/atom.xml"/>
  <entry>
    <title>Atom draft-07 snapshot</title>
    <link rel="alternate" href="2005/04/02/atom"/>
    <link rel="enclosure" type="audio/mpeg" length="1337" href="https://example.org/audio/ph34r_my_podcast.mp3"/>
    <id>tag:example.org,2003:3.2397</id>
    <updated>2005-07-31T12:29:29Z</updated>
    <published>2003-12-13T08:29:29-04:00</published>
    <author><name>Joe</name></author><author><name>Sam</name></author>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p><i>[Update: 1 &lt; 2.]</i></p><p>Second.</p></div></content>
  </entry>
  <entry>
    <title>Plain</title>
    <link href="https://simonwillison.net/2"/>
    <id>2</id>
    <updated>2005-07-30T12:00:00Z</updated>
    <summary>A &lt; B</summary>
  </entry>
</feed>`;

export const podcast = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd">
<channel>
  <title>Hiking Treks</title>
  <link>https://feeds.megaphone.fm/hiking</link>
  <itunes:author>The Sunset Explorers</itunes:author>
  <item>
    <title>Hiking Treks Trailer</title>
    <link>https://feeds.megaphone.fm/hiking</link>
    <itunes:author>The Sunset Explorers</itunes:author>
    <description><![CDATA[The trailer.]]></description>
    <enclosure length="5650889" type="audio/mpeg" url="https://example.com/podcasts/trailer.mp3"/>
    <guid isPermaLink="false">D03EEC9B-B1B4-475B-92C8-54F853FA2A22</guid>
    <pubDate>Tue, 08 Jan 2019 01:15:00 GMT</pubDate>
    <itunes:duration>1:00:05</itunes:duration>
  </item>
  <item>
    <title>S01 EP01</title>
    <link>https://feeds.megaphone.fm/hiking</link>
    <enclosure length="0" type="audio/x-m4a" url="https://example.com/podcasts/ep1.m4a"/>
    <pubDate>Wed, 09 Jan 2019 01:15:00 GMT</pubDate>
    <itunes:duration>1079</itunes:duration>
  </item>
  <item>
    <title>A film</title>
    <enclosure length="9" type="video/mp4" url="https://example.com/podcasts/film.mp4"/>
    <pubDate>Mon, 07 Jan 2019 01:15:00 GMT</pubDate>
  </item>
</channel>
</rss>`;

export const jsonFeed = JSON.stringify({
  version: "https://jsonfeed.org/version/1.1",
  title: "My Example Feed",
  home_page_url: "https://dev.to/",
  feed_url: "https://dev.to/feed.json",
  authors: [{ name: "Brent" }],
  items: [
    { id: "2", content_text: "This is a second item.", url: "https://dev.to/second-item", date_published: "2020-02-02T02:02:02Z", attachments: [{ url: "https://dev.to/a.mp3", mime_type: "audio/mpeg", size_in_bytes: 5, duration_in_seconds: 6 }] },
    { id: 1, content_html: "<p>Hello, world!</p>", url: "https://dev.to/initial-post", title: 7 },
  ],
});

export const page = `<!DOCTYPE html><html><head><title>A blog</title>
<link rel="alternate" type="application/rss+xml" title="RSS" href="/feed.xml"><link rel=stylesheet href=a.css>
</head><body><p>Hello</body></html>`;

/** A document that would expand to gigabytes, if its entities were. */
export const bomb = `<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;"><!ENTITY file SYSTEM "file:///etc/passwd">]>
<rss version="2.0"><channel><title>&lol2;</title><item><title>One &file;</title></item></channel></rss>`;
