/** How the samples in docs/samples/verify-callback are run: each by a program of a few lines around its function. */

export interface Language {
  /** The language of the code block on docs/callbacks.md. */
  readonly name: string;
  readonly file: string;
  /** What runs or compiles it. */
  readonly command: string;
  /** CI installs it (.ci/run). Go and a JDK are large, and run where they are installed. */
  readonly inCi: boolean;
  /**
   * Files beside the sample: a program that reads one message in each line, and prints `true` or `false` in one.
   * `secret`, `webhook-id`, `webhook-timestamp`, `webhook-signature` and the body in base64 are separated by tabs.
   */
  readonly program: Readonly<Record<string, string>>;
  /** Compiles it, where the language needs that. */
  readonly build?: readonly [program: string, ...args: string[]];
  readonly run: readonly [program: string, ...args: string[]];
  /** How the sample compares in constant time. */
  readonly comparison: string;
}

export const LANGUAGES: readonly Language[] = [
  {
    name: 'js',
    file: 'callbacks.mjs',
    command: process.execPath,
    inCi: true,
    program: {
      'verify.mjs': `import { createInterface } from 'node:readline';
import { isGenuine } from './callbacks.mjs';
for await (const line of createInterface({ input: process.stdin })) {
  const [secret, id, timestamp, signature, body] = line.split('\\t');
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  console.log(isGenuine(secret, headers, Buffer.from(body, 'base64')));
}
`,
    },
    run: [process.execPath, 'verify.mjs'],
    comparison: 'timingSafeEqual',
  },
  {
    name: 'python',
    file: 'callbacks.py',
    command: 'python3',
    inCi: true,
    program: {
      'verify.py': `import base64, sys
from callbacks import is_genuine
for line in sys.stdin:
    secret, id, timestamp, signature, body = line.rstrip("\\n").split("\\t")
    headers = {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature}
    print(str(is_genuine(secret, headers, base64.b64decode(body))).lower())
`,
    },
    run: ['python3', 'verify.py'],
    comparison: 'hmac.compare_digest',
  },
  {
    name: 'php',
    file: 'callbacks.php',
    command: 'php',
    inCi: true,
    program: {
      'verify.php': `<?php
require 'callbacks.php';
while (($line = fgets(STDIN)) !== false) {
    [$secret, $id, $timestamp, $signature, $body] = explode("\\t", rtrim($line, "\\n"));
    $headers = ['webhook-id' => $id, 'webhook-timestamp' => $timestamp, 'webhook-signature' => $signature];
    echo isGenuine($secret, $headers, base64_decode($body)) ? "true\\n" : "false\\n";
}
`,
    },
    run: ['php', 'verify.php'],
    comparison: 'hash_equals',
  },
  {
    name: 'ruby',
    file: 'callbacks.rb',
    command: 'ruby',
    inCi: true,
    program: {
      'verify.rb': `require_relative "callbacks"
STDIN.each_line do |line|
  secret, id, timestamp, signature, body = line.chomp.split("\\t", -1)
  headers = { "webhook-id" => id, "webhook-timestamp" => timestamp, "webhook-signature" => signature }
  puts genuine?(secret, headers, body.unpack1("m"))
end
`,
    },
    run: ['ruby', 'verify.rb'],
    comparison: 'OpenSSL.secure_compare',
  },
  {
    name: 'perl',
    file: 'callbacks.pl',
    command: 'perl',
    inCi: true,
    program: {
      'verify.pl': `use MIME::Base64;
require './callbacks.pl';
while (my $line = <STDIN>) {
    chomp $line;
    my ($secret, $id, $timestamp, $signature, $body) = split /\\t/, $line, -1;
    my $headers = { 'webhook-id' => $id, 'webhook-timestamp' => $timestamp, 'webhook-signature' => $signature };
    print is_genuine($secret, $headers, decode_base64($body)) ? "true\\n" : "false\\n";
}
`,
    },
    run: ['perl', 'verify.pl'],
    comparison: 'hmac_sha256($_, $key) eq $digest',
  },
  {
    name: 'go',
    file: 'callbacks.go',
    command: 'go',
    inCi: false,
    program: {
      'go.mod': 'module example.com/verify\n\ngo 1.18\n',
      'program/main.go': `package main
import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
	callbacks "example.com/verify"
)
func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\\t")
		headers := http.Header{}
		headers.Set("webhook-id", fields[1])
		headers.Set("webhook-timestamp", fields[2])
		headers.Set("webhook-signature", fields[3])
		body, _ := base64.StdEncoding.DecodeString(fields[4])
		fmt.Println(callbacks.IsGenuine(fields[0], headers, body))
	}
}
`,
    },
    build: ['go', 'build', '-o', 'verify-go', './program'],
    run: ['./verify-go'],
    comparison: 'hmac.Equal',
  },
  {
    name: 'java',
    file: 'Callbacks.java',
    command: 'javac',
    inCi: false,
    program: {
      'Verify.java': `import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;
import java.util.Map;
class Verify {
    public static void main(String[] args) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] fields = line.split("\\t", -1);
            var headers = Map.of(
                "webhook-id", fields[1], "webhook-timestamp", fields[2], "webhook-signature", fields[3]);
            System.out.println(Callbacks.isGenuine(fields[0], headers, Base64.getDecoder().decode(fields[4])));
        }
    }
}
`,
    },
    build: ['javac', 'Callbacks.java', 'Verify.java'],
    run: ['java', 'Verify'],
    comparison: 'MessageDigest.isEqual',
  },
];
