#!/usr/bin/env bash
# Makes the secrets of compose.yaml, once, in deploy/compose/secrets or in the folder that is given.
set -euo pipefail
folder=${1:-$(dirname "$0")/secrets}
if [ -e "$folder" ]; then
  echo "$folder is there already: it is kept. Delete it, and the volumes, to start anew." >&2
  exit 1
fi
umask 077
mkdir -p "$folder/rails"
cd "$folder"
for name in superuser owner service grafana; do printf %s "$(openssl rand -hex 24)" > "$name-password"; done
printf 'postgresql://tiba_owner:%s@postgres/tiba' "$(cat owner-password)" > owner-url
printf 'postgresql://tiba_service:%s@postgres/tiba' "$(cat service-password)" > database-url
openssl rand -base64 32 > secret-key
openssl rand -hex 32 > rails/bank-secret
openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rails/bank-private-key.pem
cat > rails/rails.json <<'END_OF_FILE'
{
  "rails": [
    {
      "name": "simulated",
      "protocol": "snap",
      "base_url": "https://bank:8090",
      "ca_file": "/etc/tiba-bank/ca.pem",
      "client_key": "tiba-staging",
      "client_secret_file": "bank-secret",
      "private_key_file": "bank-private-key.pem",
      "partner_id": "TIBA",
      "channel_id": "95221",
      "own_bank": "BCA",
      "banks": "*"
    }
  ]
}
END_OF_FILE
cat > bank.env <<END_OF_FILE
BANK_CLIENT_KEY=tiba-staging
BANK_CLIENT_SECRET=$(cat rails/bank-secret)
BANK_PARTNER_ID=TIBA
BANK_CLIENT_PUBLIC_KEY=$(openssl pkey -in rails/bank-private-key.pem -pubout | awk '{ printf "%s\\n", $0 }')
END_OF_FILE
# Compose mounts the files as they are, and users of the containers must read them. Others cannot enter this folder.
chmod 755 rails
chmod 644 -- *-password *-url secret-key rails/*
