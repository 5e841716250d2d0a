"""Adds a month of calls to the counts of a server's database, for pictures: `past_calls.py kitbag.sqlite`. Always the same."""

import math
import random
import sqlite3
import sys
import time

# Calls in a busy hour, parts of them that fail and are refused, and the range that most durations are in.
TOOLKITS = {
    "weather": (140, 0.01, 0.004, 4),
    "github": (90, 0.03, 0.01, 5),
    "notes": (60, 0.004, 0.002, 1),
    "translate": (22, 0.02, 0.03, 6),
    "papers": (12, 0.05, 0.01, 7),
    "knowledge": (70, 0.002, 0.001, 2),
    "text": (8, 0.01, 0.05, 0),
}
RANGES = 12
DAYS = 30

chance = random.Random(7)
now = int(time.time()) // 3600
counts, users = [], []
for toolkit, (busy, failing, refusing, typical) in TOOLKITS.items():
    for hour in range(now - DAYS * 24, now):
        of_day, of_week = hour % 24, (hour // 24 + 3) % 7
        day = math.exp(-(((of_day - 14) / 5) ** 2)) * (0.15 if of_week > 4 else 1)
        calls = int(busy * day * chance.uniform(0.6, 1.2))
        outage = toolkit == "github" and now - 9 <= hour <= now - 7
        refused = sum(chance.random() < refusing for _ in range(calls))
        failures = refused + sum(chance.random() < (0.4 if outage else failing) for _ in range(calls - refused))
        took = [0] * RANGES
        for _ in range(calls - refused):
            took[min(RANGES - 1, max(0, round(chance.gauss(typical + (4 if outage else 0), 1.1))))] += 1
        if calls:
            counts.append((hour, toolkit, calls, failures, refused, *took))
    users += [(toolkit, f"user-{number}", now) for number in range(math.isqrt(busy) * 3)]

with sqlite3.connect(sys.argv[1], timeout=30) as database:
    database.executemany(f"INSERT OR IGNORE INTO call_counts VALUES ({', '.join('?' * (5 + RANGES))})", counts)
    database.executemany("INSERT OR IGNORE INTO toolkit_users VALUES (?, ?, ?)", users)
