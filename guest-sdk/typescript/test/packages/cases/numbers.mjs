// Time, numbers and places.
import dayjs from "dayjs";
import utc from "dayjs/plugin/utc.js";
import { DateTime } from "luxon";
import { formatInTimeZone } from "date-fns-tz";
import ms from "ms";
import { CronExpressionParser } from "cron-parser";
import * as rrule from "rrule";
import * as chrono from "chrono-node";
import moment from "moment";
import humanizeDuration from "humanize-duration";
import prettyMs from "pretty-ms";
import Big from "big.js";
import { Decimal } from "decimal.js";
import Fraction from "fraction.js";
import * as statistics from "simple-statistics";
import numeral from "numeral";
import { filesize } from "filesize";
import { extent, mean, quantile } from "d3-array";
import { scaleLinear } from "d3-scale";
import { format } from "d3-format";
import { Matrix, solve } from "ml-matrix";
import { getDistance } from "geolib";
import { distance } from "@turf/distance";
import chroma from "chroma-js";
import { parsePhoneNumberFromString } from "libphonenumber-js";
import ISO6391 from "iso-639-1";
import * as SunCalc from "suncalc";

dayjs.extend(utc);
// Node.js finds the names of this package in its default export alone.
const { RRule } = rrule.RRule === undefined ? rrule.default : rrule;
const AT = "2026-01-31T12:00:00Z";

export default {
  dayjs: () => dayjs.utc(AT).add(1, "month").format("YYYY-MM-DD dddd"),
  luxon: () => DateTime.fromISO(AT, { zone: "Europe/Berlin" }).plus({ months: 1 }).toISO(),
  "date-fns-tz": () => formatInTimeZone(new Date(AT), "America/New_York", "yyyy-MM-dd HH:mm zzz"),
  ms: () => [ms("2 days"), ms(60_000, { long: true })],
  "cron-parser": () => CronExpressionParser.parse("0 9 * * 1", { currentDate: AT, tz: "UTC" }).next().toISOString(),
  rrule: () => new RRule({ freq: RRule.MONTHLY, count: 3, dtstart: new Date(AT) }).all(),
  "chrono-node": () => chrono.parseDate("next friday at 5pm", { instant: new Date(AT), timezone: "UTC" }),
  moment: () => moment.utc(AT).add(1, "month").format("LLLL"),
  "humanize-duration": () => humanizeDuration(97_320_000),
  "pretty-ms": () => prettyMs(1_337_000_000),
  "big.js": () => new Big("0.1").plus("0.2").div(3).toString(),
  "decimal.js": () => new Decimal(2).sqrt().toFixed(40),
  "fraction.js": () => new Fraction("1/3").add("1/6").toFraction(),
  "simple-statistics": () => [statistics.standardDeviation([1, 2, 4]), statistics.linearRegression([[0, 1], [1, 3]])],
  numeral: () => numeral(1_234_567.891).format("0,0.00"),
  filesize: () => filesize(265_318),
  "d3-array": () => [extent([3, 1, 2]), mean([1, 2]), quantile([1, 2, 3, 4], 0.25)],
  "d3-scale": () => scaleLinear([0, 10], [0, 100]).ticks(4),
  "d3-format": () => [format(".3s")(1_234_567), format("+.1%")(0.123)],
  "ml-matrix": () => solve(new Matrix([[2, 1], [1, 3]]), Matrix.columnVector([3, 5])).to2DArray(),
  geolib: () => getDistance({ latitude: 52.5, longitude: 13.4 }, { latitude: 48.1, longitude: 11.6 }),
  "@turf/distance": () => distance([13.4, 52.5], [11.6, 48.1]).toFixed(6),
  "chroma-js": () => [chroma("teal").brighten().hex(), chroma.contrast("white", "#777").toFixed(6)],
  "libphonenumber-js": () => parsePhoneNumberFromString("030 123456", "DE").formatInternational(),
  "iso-639-1": () => [ISO6391.getName("de"), ISO6391.getCode("Swedish")],
  suncalc: () => SunCalc.getTimes(new Date(AT), 52.5, 13.4).sunrise,
};
