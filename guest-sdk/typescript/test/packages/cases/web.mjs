// The Web, bytes and services.
import queryString from "query-string";
import urlJoin from "url-join";
import { compile, match } from "path-to-regexp";
import * as cookie from "cookie";
import ipaddr from "ipaddr.js";
import validator from "validator";
import * as tldts from "tldts";
import { decodeTime, ulid } from "ulid";
import { v5, validate } from "uuid";
import { sha256 } from "@noble/hashes/sha2.js";
import { Base64 } from "js-base64";
import CRC32 from "crc-32";
import SparkMD5 from "spark-md5";
import nacl from "tweetnacl";
import { jwtDecode } from "jwt-decode";
import ky from "ky";
import JSZip from "jszip";
import { gunzipSync, gzipSync, strFromU8, strToU8 } from "fflate";
import * as pako from "pako";
import { PDFDocument } from "pdf-lib";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import OpenAI from "openai";
import Sqids from "sqids";
import * as OTPAuth from "otpauth";
import axios from "axios";

const bytes = new TextEncoder().encode("some bytes, some bytes");

export default {
  "query-string": () => [queryString.parse("a=1&a=2&b"), queryString.stringify({ a: [1, 2] }, { arrayFormat: "bracket" })],
  "url-join": () => urlJoin("https://a.example", "/b/", "?c=d"),
  "path-to-regexp": () => [match("/users/:id")("/users/7").params, compile("/a/:b")({ b: "c d" })],
  cookie: () => cookie.parseCookie("a=b; c=%20"),
  "ipaddr.js": () => [ipaddr.parse("10.0.0.1").range(), ipaddr.parse("::1").toNormalizedString()],
  validator: () => [validator.isEmail("a@b.example"), validator.isIBAN("DE89370400440532013000"), validator.escape("<a>")],
  tldts: () => tldts.parse("https://a.b.co.uk/c").domain,
  ulid: () => decodeTime(ulid(1_000)),
  uuid: () => [v5("a.example", v5.DNS), validate("no")],
  "@noble/hashes": () => [...sha256(bytes)],
  "js-base64": () => [Base64.encode("ü", true), Base64.decode("w7w")],
  "crc-32": () => CRC32.str("some text"),
  "spark-md5": () => SparkMD5.hash("some text"),
  tweetnacl: () => [...nacl.secretbox(bytes, new Uint8Array(24), new Uint8Array(32))],
  "jwt-decode": () => jwtDecode("eyJhbGciOiJub25lIn0.eyJhIjoxfQ."),
  ky: () => ky("https://unknown.example/", { retry: 0, fetch: async (request) => Response.json({ url: request.url, accept: request.headers.get("accept") }) }).json(),
  jszip: async () => {
    const packed = await new JSZip().file("a.txt", "text ".repeat(99)).generateAsync({ type: "uint8array", compression: "DEFLATE" });
    return (await JSZip.loadAsync(packed)).file("a.txt").async("string");
  },
  fflate: () => strFromU8(gunzipSync(gzipSync(strToU8("text")))),
  pako: () => [...pako.deflate(bytes)],
  "pdf-lib": async () => {
    const made = await PDFDocument.create();
    made.addPage([200, 100]).drawText("x");
    return (await PDFDocument.load(await made.save())).getPage(0).getSize();
  },
  "@aws-sdk/client-s3": async () => {
    const seen = [];
    const handle = async ({ method, hostname, path, headers }) => {
      seen.push(method, hostname, path, headers.host, headers["content-length"]);
      return { response: { statusCode: 200, headers: { etag: '"a"' }, body: new Blob([]).stream() } };
    };
    const client = new S3Client({ region: "eu-central-1", credentials: { accessKeyId: "a", secretAccessKey: "b" }, requestHandler: { handle } });
    return [(await client.send(new PutObjectCommand({ Bucket: "bucket", Key: "a b", Body: "text" }))).ETag, seen];
  },
  openai: async () => {
    const answer = async (url, { headers }) => Response.json({ data: [{ id: url, authorization: new Headers(headers).get("authorization") }] });
    return (await new OpenAI({ apiKey: "key", fetch: answer, dangerouslyAllowBrowser: true }).models.list()).data;
  },
  sqids: () => [new Sqids().encode([1, 2, 3]), new Sqids().decode("86Rf07")],
  otpauth: () => new OTPAuth.TOTP({ secret: "JBSWY3DPEHPK3PXP" }).generate({ timestamp: 1_000_000 }),
  axios: () => [axios.getUri({ url: "https://a.example/b", params: { c: [1, 2] } }), axios.isAxiosError(new axios.AxiosError("x"))],
};
