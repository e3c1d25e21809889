/** Characters that look random and are the same in each run; put together here, so that no scanner takes this file for a leak. */
export function random(length: number, alphabet = "aB3dE5gH7jK9mN2pQ4sT6vW8xY1zC0fL"): string {
  return Array.from({ length }, (_, at) => alphabet[(at * 7 + at * at * 3) % alphabet.length]).join(
    "",
  );
}
const hex = (length: number) => random(length, "0a1b2c3d4e5f6978");
const digits = (length: number) => random(length, "4071928365");

/** Common kinds of credentials: the text, and the part of it that must not survive. */
export const SECRETS: Readonly<Record<string, readonly [text: string, secret: string]>> = {
  "Anthropic key": inSentence(`sk-ant-api03-${random(93)}AA`),
  "OpenAI project key": inSentence(`sk-proj-${random(74)}T3BlbkFJ${random(74)}`),
  "OpenAI key": inSentence(`sk-${random(48)}`),
  "AWS key id": inSentence(`AKIA${random(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")}`),
  "AWS secret key in a setting": after("aws_secret_access_key = ", `${random(20)}/${random(19)}`),
  "AWS secret key in prose": after("the AWS secret access key is ", `${random(20)}/${random(19)}`),
  "Google key": inSentence(`AIza${random(35)}`),
  "Google OAuth token": inSentence(`ya29.${random(60)}`),
  "GitHub token": inSentence(`ghp_${random(36)}`),
  "GitHub fine-grained token": inSentence(`github_pat_${random(22)}_${random(59)}`),
  "GitLab token": inSentence(`glpat-${random(20)}`),
  "Slack token": inSentence(`xoxb-${digits(11)}-${digits(12)}-${random(24)}`),
  "Slack webhook": after(
    "https://hooks.slack.com/services/",
    `T${random(8)}/B${random(8)}/${random(24)}`,
  ),
  "Discord webhook": after(`https://discord.com/api/webhooks/${digits(18)}/`, random(68)),
  "Stripe key": inSentence(`sk_live_${random(24)}`),
  "Stripe test key": inSentence(`rk_test_${random(24)}`),
  "npm token": inSentence(`npm_${random(36)}`),
  "PyPI token": inSentence(`pypi-AgEIcHlwaS5vcmc${random(80)}`),
  "Hugging Face token": inSentence(`hf_${random(34, "abcdefghijklmnopqrstuvwxyzABCDEF")}`),
  "SendGrid key": inSentence(`SG.${random(22)}.${random(43)}`),
  "Twilio key": inSentence(`SK${hex(32)}`),
  "Telegram token": inSentence(`${digits(9)}:AA${random(33)}`),
  "DigitalOcean token": inSentence(`dop_v1_${hex(64)}`),
  "Databricks token": inSentence(`dapi${hex(32)}`),
  "Vault token": inSentence(`hvs.${random(95)}`),
  "Shopify token": inSentence(`shpat_${hex(32)}`),
  "Linear key": inSentence(`lin_api_${random(40)}`),
  "JSON web token": inSentence(`eyJ${random(33)}.eyJ${random(80)}.${random(43)}`),
  "Azure client secret": inSentence(`abc8Q~${random(34)}`),
  "Azure storage key": after(
    "DefaultEndpointsProtocol=https;AccountName=files;AccountKey=",
    `${random(86)}==`,
  ),
  "Azure SAS": after(
    "https://files.blob.core.windows.net/c?sv=2024-01-01&sig=",
    `${random(40)}%3D`,
  ),
  "signed URL": after("https://b.s3.amazonaws.com/k?X-Amz-Date=20260101&X-Amz-Signature=", hex(64)),
  "connection string": after("postgres://app:", "hunter2x", "@db.internal:5432/shop"),
  "password with signs in an address": after(
    "mongodb+srv://app:",
    "p4ss:w%40rd",
    "@cluster0.example.net",
  ),
  "ADO connection string": after(
    "Server=db;User Id=sa;Password=",
    "Zebra!Crossing9",
    ";Encrypt=yes",
  ),
  "libpq string": after("host=db user=app password=", "sw0rdfish", " dbname=shop"),
  "environment variable": after("DB_PASSWORD=", "swordfish"),
  "quoted in the environment": after('export STAGING_SMTP_PASS="', "blue-Whale-42", '"'),
  "JSON setting": after('{"apiKey": "', `${random(24)}`, '"}'),
  "JSON inside JSON": after('{\\"client_secret\\": \\"', `${random(24)}`, '\\"}'),
  "YAML setting": after("  password: ", "s3cr3t-horse", "\n  user: app"),
  code: after("const dbPassword = '", "Tr0ub4dor&3", "';"),
  XML: after("<password>", "Tr0ub4dor3", "</password>"),
  flag: after("mysql --user app --password ", "hunter2", " shop"),
  netrc: after("machine git.example.com login ada password ", "hunter2x"),
  SQL: after("CREATE USER app IDENTIFIED BY '", "hunter2x", "'"),
  "said in prose": after("my password is ", "hunter2", ", do not tell"),
  "token in prose with a colon": after("the api token: ", random(32)),
  "bearer header": after('curl -H "Authorization: Bearer ', random(40), '" https://x.example'),
  "basic header": after("Authorization: Basic ", "YWRhOmxvdmVsYWNlCg=="),
  "x-api-key header": after("x-api-key: ", random(32)),
  "curl user": after("curl -u ada:", "lovelace1815", " https://x.example"),
  "mysql flag": after("mysql -u app -p", "hunter2x", " shop"),
  "mysqldump flag": after("mysqldump -uapp -p'", "hunter2x", "' shop"),
  sshpass: after("sshpass -p ", "hunter2x", " ssh ada@example.com"),
  cookie: after("Cookie: ", `sid=${random(40)}`),
  "private key": after(
    "",
    `-----BEGIN RSA PRIVATE KEY-----\n${random(64)}\n${random(64)}\n-----END RSA PRIVATE KEY-----`,
  ),
  "private key in JSON": after(
    '{"private_key": "',
    `-----BEGIN PRIVATE KEY-----\\n${random(64)}\\n${random(20)}=\\n-----END PRIVATE KEY-----\\n`,
    '"}',
  ),
  "PGP key": after(
    "",
    `-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n${random(64)}\n=${random(4)}\n-----END PGP PRIVATE KEY BLOCK-----`,
  ),
  "seed phrase": after(
    'seed_phrase = "',
    "ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic",
    '"',
  ),
};

function inSentence(secret: string): readonly [string, string] {
  return [`Please use ${secret}, it works`, secret];
}

function after(before: string, secret: string, behind = ""): readonly [string, string] {
  return [`${before}${secret}${behind}`, secret];
}

/** Texts that look a little like credentials and have none. */
export const HARMLESS = [
  "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
  "9fceb02d0ae598e95dc970b74767f19372d61af8  dist/index.js",
  "019467d9-7e3a-7000-8000-000000000000",
  "session_id: 019467d9-7e3a-7000-8000-000000000000",
  "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  '"integrity": "sha512-oRjTw/97aTBN0RHbYCdtF1MQfvusSIBQM0IZEgzl6426+8jSC0nF1a/GmnVLpfB9yyr6g6FTqWqiZVbxrtaCIg=="',
  "Our password rules: at least 12 characters, one digit, no spaces.",
  "The password is wrong, and the token is expired.",
  "Enter your password: ",
  "mysql -u app -p shop",
  "mysql -h db -P 3306 -p",
  "mysql -uapp -p$PASSWORD shop",
  "docker run --name mysql -p3306:3306 mysql:8",
  "password: string; token?: string; apiKey: string",
  "if (!user.password) throw new Error('password is required')",
  "const token = await getToken(user2);",
  "const password = process.env.DB_PASSWORD ?? '';",
  "password: config.get('db.password')",
  `DB_PASSWORD=${"$"}{DB_PASSWORD}`,
  "DB_PASSWORD=<your password here>",
  "api_key: your-api-key-here",
  "apiKey: 'YOUR_API_KEY'",
  "max_tokens: 4096, input_tokens: 120000",
  "The tokenizer makes 1200 tokens of it.",
  "PWD=/home/ada/project1",
  "token: /etc/secrets/token1",
  'type="password" name="password"',
  "Passed: 12 tests; failed: 0. pass: 12",
  "secret: v1.2.3",
  "key: value1, primary_key: user_id2",
  "The public key is in keys/id_ed25519.pub",
  "https://example.com/a/b?page=2&sort=name&token=",
  "https://example.com:8080/path@2x.png",
  "git@github.com:ada/engine.git",
  "mailto:ada@example.com",
  `secrets.GITHUB_TOKEN and ${"$"}{{ secrets.NPM_TOKEN }}`,
  "Bearer tokens go into the Authorization header.",
  "Authorization: Bearer $TOKEN",
  "headers: { Authorization: 'Bearer valid_token' }",
  "const NO_TOKENS: LanguageModelV4Usage = {}",
  "the API key\nconst url = 'https://api.example.org/data/2.5/weather'",
  "It begins with -----BEGIN PRIVATE KEY-----, which is easy to see.",
  "signing(privateKey, alg, encode_utils.utf8Encoder.encode)",
  "task-sk-1 and sk-learn-like-names-that-go-on-for-a-while-here",
  "Use a secret manager such as vault2 or the like.",
  "see src/secrets/find-secrets.ts:120 and test/fixtures/token-list-2.json",
  "password reset took 3 days and 12 mails",
  "MemoryIndexRecorderForTheProject2Of3InTheFolder",
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
];
