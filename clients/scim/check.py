"""Runs scim2-tester against a server: `python check.py URL TOKEN`. Prints each check, and fails if one does."""

import sys

import httpx2
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

url, token = sys.argv[1:]
http = httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
results = check_server(SyncSCIMClient(http))
for result in results:
    print(result.status.name, result.title, result.reason or "", result.data or "")
sys.exit(any(result.status in (Status.DEVIATION, Status.ERROR, Status.CRITICAL) for result in results))
