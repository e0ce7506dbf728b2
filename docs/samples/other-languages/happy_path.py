import json
import os
from decimal import Decimal
from functools import partial
from types import SimpleNamespace

import tiba
import tiba.api_client

# The generated client would read amounts as binary floats, which cannot hold every amount.
tiba.api_client.json = SimpleNamespace(dumps=json.dumps, loads=partial(json.loads, parse_float=Decimal))

configuration = tiba.Configuration(host=os.environ["TIBA_URL"])
token = tiba.LoginApi(tiba.ApiClient(configuration)).create_access_token(
    "client_credentials",
    client_id=os.environ["TIBA_CLIENT_ID"],
    client_secret=os.environ["TIBA_CLIENT_SECRET"],
)
print("token", token.token_type, token.expires_in)
configuration.access_token = token.access_token
client = tiba.ApiClient(configuration)

check = tiba.AccountCheck(bank_code="BCA", account_number="1234567890")
account = tiba.AccountValidationApi(client).check_account(check).data
print("account", account.status, account.account_name)

statuses = tiba.DisbursementStatusApi(client)
transaction = statuses.check_status("INV/2026/001").data
print("status", transaction.status, transaction.amount)
for transaction in statuses.list_transactions(limit=10).data.transactions:
    print("list", transaction.reference_id)

try:
    statuses.check_status("NONE")
except tiba.ApiException as error:
    print("error", error.status, json.loads(error.body)["error_code"])
