// The hosts that the toolkit reads feeds from by itself. Egress is a fixed list without wildcards: add your hosts here,
// raise the version, and deploy. Feeds of all other hosts are captured by the server, which takes some seconds.

export const HOSTS = [
  // News
  "feeds.bbci.co.uk",
  "feeds.npr.org",
  "feeds.washingtonpost.com",
  "rss.nytimes.com",
  "www.aljazeera.com",
  "www.theguardian.com",
  "www.lemonde.fr",
  "www.spiegel.de",
  "www.tagesschau.de",
  // Technology and science
  "export.arxiv.org",
  "feeds.arstechnica.com",
  "github.blog",
  "github.com",
  "hnrss.org",
  "lobste.rs",
  "lwn.net",
  "blog.cloudflare.com",
  "blog.rust-lang.org",
  "news.ycombinator.com",
  "rss.arxiv.org",
  "simonwillison.net",
  "www.heise.de",
  "www.nasa.gov",
  "www.nature.com",
  "xkcd.com",
  // Blogs and platforms
  "dev.to",
  "feeds.feedburner.com",
  "mastodon.social",
  "medium.com",
  "www.reddit.com",
  "www.youtube.com",
  // Podcasts
  "anchor.fm",
  "audioboom.com",
  "feeds.acast.com",
  "feeds.buzzsprout.com",
  "feeds.captivate.fm",
  "feeds.fireside.fm",
  "feeds.libsyn.com",
  "feeds.megaphone.fm",
  "feeds.simplecast.com",
  "feeds.soundcloud.com",
  "feeds.transistor.fm",
  "podcasts.files.bbci.co.uk",
  "rss.art19.com",
  "www.omnycontent.com",
  "www.spreaker.com",
];

/** Returns whether the toolkit may send a request to a URL by itself. */
export function isListed(url: URL): boolean {
  return HOSTS.includes(url.host);
}
