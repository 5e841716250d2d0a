"""Calculates with dates, which language models get wrong: days between dates, dates after periods, weekdays.

Written against the contract alone, wit/current/toolkit.wit. `wit_world` is generated from it, and from dates.wit, by
componentize-py.
"""

import json
from calendar import isleap, monthrange
from datetime import date, timedelta

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.tools import CallError_Failure, CallError_InvalidParams, Invocation, ToolResult

DATE = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "description": "Such as 2026-02-28"}
PERIOD = {"type": "integer", "minimum": -400_000, "maximum": 400_000, "default": 0}
FRIDAY = 5


class Tools(exports.Tools):
    """What the world exports: componentize-py looks for a class of this name."""

    def describe(self) -> str:
        manifest = {
            "id": "dates",
            "name": "Dates",
            "description": "Calculates with dates: days between them, dates after a period, weekdays.",
            "icon": "📅",
            "version": "1.0.0",
            "visibility": "shared",
            "tools": [
                reading_tool(
                    "days_between",
                    "Counts the days from one date to another: all, and those from Monday to Friday, "
                    "with the first date and without the last.",
                    arguments={"from": DATE, "to": DATE},
                    result={"days": {"type": "integer"}, "weekdays": {"type": "integer"}},
                ),
                reading_tool(
                    "add_to_date",
                    "Adds years and months, then weeks and days, to a date; negative numbers go back. A day that the "
                    "month does not have becomes its last one.",
                    arguments={"date": DATE, "years": PERIOD, "months": PERIOD, "weeks": PERIOD, "days": PERIOD},
                    required=["date"],
                    result={"date": {"type": "string"}, "weekday": {"type": "string"}},
                ),
                reading_tool(
                    "describe_date",
                    "Says which weekday a date is, which day of the year, and which ISO week it is in.",
                    arguments={"date": DATE},
                    result={
                        "weekday": {"type": "string"},
                        "dayOfYear": {"type": "integer"},
                        "isoWeek": {"type": "string"},
                        "leapYear": {"type": "boolean"},
                    },
                ),
            ],
        }
        return json.dumps(manifest)

    def call(self, invocation: Invocation) -> ToolResult:
        handlers = {"days_between": days_between, "add_to_date": add_to_date, "describe_date": describe_date}
        handler = handlers.get(invocation.tool)
        if handler is None:
            raise Err(CallError_Failure(f"there is no tool {invocation.tool!r}"))
        try:
            text, structured = handler(json.loads(invocation.arguments))
        except (ValueError, OverflowError) as error:
            # Of the arguments: they fit the schema, and 2026-02-30 fits its pattern.
            raise Err(CallError_InvalidParams(str(error))) from error
        return ToolResult(text=text, structured=json.dumps(structured), content=[])


def days_between(arguments: dict) -> tuple[str, dict]:
    first, last = date.fromisoformat(arguments["from"]), date.fromisoformat(arguments["to"])
    days = (last - first).days
    weekdays = weekdays_before(last) - weekdays_before(first)
    text = f"From {first} to {last} there are {days} days, {weekdays} of them from Monday to Friday."
    return text, {"days": days, "weekdays": weekdays}


def add_to_date(arguments: dict) -> tuple[str, dict]:
    start = date.fromisoformat(arguments["date"])
    months = 12 * start.year + start.month - 1 + 12 * arguments.get("years", 0) + arguments.get("months", 0)
    year, month = months // 12, months % 12 + 1
    if not date.min.year <= year <= date.max.year:
        raise OverflowError(f"the year {year} is not one from {date.min.year} to {date.max.year}")
    moved = date(year, month, min(start.day, monthrange(year, month)[1]))
    end = moved + timedelta(weeks=arguments.get("weeks", 0), days=arguments.get("days", 0))
    return f"{end}, a {end:%A}", {"date": str(end), "weekday": f"{end:%A}"}


def describe_date(arguments: dict) -> tuple[str, dict]:
    day = date.fromisoformat(arguments["date"])
    iso = day.isocalendar()
    week, number = f"{iso.year}-W{iso.week:02}", day.timetuple().tm_yday
    text = f"{day} is a {day:%A}, day {number} of the year, in the week {week}."
    structured = {"weekday": f"{day:%A}", "dayOfYear": number, "isoWeek": week, "leapYear": isleap(day.year)}
    return text, structured


def weekdays_before(day: date) -> int:
    """Counts the days from Monday to Friday before a date, since the Monday 0001-01-01."""
    weeks, rest = divmod((day - date.min).days, 7)
    return FRIDAY * weeks + min(rest, FRIDAY)


def reading_tool(
    name: str, description: str, arguments: dict, result: dict, required: list[str] | None = None
) -> dict:
    """A tool that changes nothing and reaches nothing."""
    return {
        "name": name,
        "description": description,
        "inputSchema": object_schema(arguments, required or list(arguments)),
        "outputSchema": object_schema(result, list(result)),
    }


def object_schema(properties: dict, required: list[str]) -> dict:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
