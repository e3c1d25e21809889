import { isWalletKey } from "./wallet-keys.ts";

/**
 * A form in which an issuer hands out credentials: it can be recognised without its surroundings.
 *
 * `form` is the source of a regular expression. It starts with fixed characters, or has a `mark`, so few places
 * are tried, and all its repetitions are bounded, so no text takes long.
 */
export interface SecretForm {
  readonly kind: string;
  readonly form: string;
  /**
   * Fixed characters inside it, and where they are if that is fixed too, counted from its beginning. A text without
   * them is not searched for the form, and the form is tried only where they are in their place.
   */
  readonly mark?: { readonly text: string; readonly at?: number };
  /** The place of its first full stop, counted from its beginning. The form is tried only where one is there. */
  readonly dot?: { readonly min: number; readonly max: number };
  /** Whether a text of this form is one, where others look the same. */
  readonly check?: (text: string) => boolean;
}

const UUID = "[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}";
const BASE58 = "[1-9A-HJ-NP-Za-km-z]";

/** A name in code may have the form too. */
function hasDigit(text: string): boolean {
  return /\d/.test(text.slice(text.search(/[_.-]/)));
}

/** Capitals and digits: words joined by dashes have neither. */
function isNoName(text: string): boolean {
  return /[A-Z\d]/.test(text);
}

/** Letters of both cases and digits, behind what they begin with. */
function isMixed(text: string): boolean {
  const rest = text.slice(text.search(/[|-]/));
  return /[a-z]/.test(rest) && /[A-Z]/.test(rest) && /\d/.test(rest);
}

/**
 * Prefixes and lengths that issuers publish, or that the rules of public secret scanners have. A lower
 * bound is a little below the published length, because a key that was cut is still a key.
 */
export const SECRET_FORMS: readonly SecretForm[] = [
  { kind: "Anthropic key", form: "sk-ant-[\\w-]{16,256}" },
  { kind: "OpenRouter key", form: "sk-or-[\\w-]{20,256}" },
  {
    kind: "OpenAI key",
    form: "sk-(?:proj-|svcacct-|admin-|None-)?[\\w-]{32,256}",
    check: isNoName,
  },
  { kind: "AWS key", form: "(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}\\b" },
  { kind: "AWS Bedrock key", form: "ABSK[A-Za-z0-9+/]{80,300}={0,2}" },
  { kind: "AWS Bedrock key", form: "bedrock-api-key-[A-Za-z0-9+/=]{20,2000}" },
  { kind: "Google key", form: "(?:AIza[\\w-]{35}|AQ\\.Ab[\\w-]{40,80})" },
  { kind: "Google token", form: "ya29\\.[\\w-]{20,1000}" },
  { kind: "Google token", form: "1//0[\\w-]{30,200}" },
  { kind: "Google client secret", form: "GOCSPX-[\\w-]{28}" },
  { kind: "GitHub token", form: "gh[pousr]_[A-Za-z0-9]{36,255}" },
  { kind: "GitHub token", form: "ghs_(?:\\w{1,40}_)?ey[\\w-]{15,2000}\\.ey[\\w.-]{30,6000}" },
  { kind: "GitHub token", form: "github_pat_\\w{22,255}" },
  {
    kind: "GitLab token",
    form: "gl(?:pat|dt|cbt|ptt|rt|ft|ffct|imt|agent|oas|soat)-[\\w.-]{20,320}",
  },
  { kind: "GitLab token", form: "GR1348941[\\w-]{20}" },
  { kind: "Bitbucket token", form: "(?:ATBB[A-Za-z0-9]{28,40}|BBDC-[A-Za-z0-9+/]{40,50})" },
  { kind: "Atlassian token", form: "AT[ACS]TT3[\\w=-]{100,300}" },
  { kind: "Slack token", form: "xox[abeoprs]-[\\w-]{10,300}" },
  { kind: "Slack token", form: "xoxe\\.xox[bp]-[\\w-]{20,300}" },
  { kind: "Slack token", form: "xapp-\\d-[A-Z0-9]{6,20}-\\d{6,20}-[a-z0-9]{20,128}" },
  { kind: "Stripe key", form: "(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,255}" },
  { kind: "Stripe webhook secret", form: "whsec_[A-Za-z0-9+/=]{24,128}" },
  { kind: "npm token", form: "npm_[A-Za-z0-9]{36}\\b" },
  { kind: "PyPI token", form: "pypi-[\\w-]{50,1000}" },
  { kind: "RubyGems key", form: "rubygems_[a-f0-9]{48}" },
  { kind: "crates.io token", form: "cio[A-Za-z0-9]{32}\\b" },
  { kind: "Docker token", form: "dckr_(?:pat|oat)_[\\w-]{27,64}" },
  { kind: "Hugging Face token", form: "(?:hf_|api_org_)[A-Za-z0-9]{34}\\b" },
  { kind: "Replicate token", form: "r8_[A-Za-z0-9]{37}\\b" },
  { kind: "Groq key", form: "gsk_[A-Za-z0-9]{40,64}" },
  { kind: "xAI key", form: "xai-[A-Za-z0-9]{70,100}" },
  { kind: "Perplexity key", form: "pplx-[A-Za-z0-9]{40,64}" },
  { kind: "Tavily key", form: "tvly-[\\w-]{20,64}" },
  { kind: "LangSmith key", form: "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}" },
  { kind: "SendGrid key", form: "SG\\.[\\w-]{16,32}\\.[\\w-]{39,50}" },
  { kind: "Brevo key", form: "x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}" },
  { kind: "Mailgun key", form: "key-[a-f0-9]{32}\\b" },
  { kind: "Mailchimp key", mark: { text: "-us", at: 32 }, form: "[a-f0-9]{32}-us\\d{1,2}\\b" },
  { kind: "Twilio key", form: "SK[a-f0-9]{32}\\b" },
  { kind: "Twilio token", form: "AC[a-f0-9]{32}:[a-f0-9]{32}\\b" },
  { kind: "Telegram token", form: "\\d{8,10}:AA[\\w-]{33}" },
  {
    kind: "Discord token",
    dot: { min: 24, max: 28 },
    form: "[MNO][A-Za-z\\d_-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,40}",
  },
  { kind: "Shopify token", form: "shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32}" },
  { kind: "Square token", form: "EAAA[\\w-]{22,64}" },
  { kind: "Square token", form: "sq0(?:atp|csp|idp)-[\\w-]{22,64}" },
  { kind: "Facebook token", form: "EAA[A-Z][A-Za-z0-9]{80,300}" },
  { kind: "DigitalOcean token", form: "do[opr]_v1_[a-f0-9]{64}" },
  { kind: "Heroku key", form: "HRKU-[\\w-]{30,80}" },
  { kind: "Fly.io token", form: "(?:fo1_[\\w-]{43}|fm[12][ar]?_[A-Za-z0-9+/=]{80,2000})" },
  { kind: "Netlify token", form: "nfp_[A-Za-z0-9]{36,64}" },
  { kind: "Vercel token", form: "vc[pkira]_[A-Za-z0-9]{24,80}" },
  { kind: "Supabase key", form: "sb(?:p|_secret)_[\\w-]{20,80}" },
  { kind: "Neon key", form: "napi_[a-z0-9]{40,80}" },
  { kind: "PlanetScale key", form: "pscale_(?:tkn|oauth|pw)_[\\w=.-]{32,64}" },
  { kind: "Databricks token", form: "(?:dapi|dose)[a-f0-9]{32}(?:-\\d)?" },
  { kind: "Pulumi token", form: "pul-[a-f0-9]{40}" },
  {
    kind: "Terraform token",
    mark: { text: ".atlasv1.", at: 14 },
    form: "[A-Za-z0-9]{14}\\.atlasv1\\.[\\w=-]{60,70}",
  },
  { kind: "Vault token", form: "hv[sbr]\\.[\\w-]{24,300}" },
  { kind: "Doppler token", form: "dp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9._-]{40,80}" },
  {
    kind: "1Password key",
    form: "A3-[A-Z0-9]{6}-[A-Z0-9-]{11,13}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}",
  },
  { kind: "1Password token", form: "ops_eyJ[A-Za-z0-9+/=_-]{100,4000}" },
  { kind: "age key", form: "AGE-SECRET-KEY-1[A-Z0-9]{58}" },
  {
    kind: "Grafana token",
    form: "(?:glc_[A-Za-z0-9+/=]{32,400}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8})",
  },
  { kind: "Sentry token", form: "sntry(?:s_[A-Za-z0-9+/=_-]{40,500}|u_[a-f0-9]{64})" },
  { kind: "New Relic key", form: "NR(?:AK|II|JS|AL)-[\\w-]{20,64}" },
  { kind: "Dynatrace token", form: "dt0[a-z]\\d{2}\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}" },
  { kind: "Postman key", form: "PMAK-[a-f0-9]{24}-[a-f0-9]{34}" },
  { kind: "Linear key", form: "lin_(?:api|oauth)_[A-Za-z0-9]{40,80}" },
  { kind: "Notion token", form: "ntn_[A-Za-z0-9]{40,60}" },
  { kind: "Notion token", form: "secret_[A-Za-z0-9]{43}\\b" },
  { kind: "Airtable token", form: "pat[A-Za-z0-9]{14}\\.[a-f0-9]{64}" },
  { kind: "Figma token", form: "fig[du]_[\\w-]{40,64}" },
  { kind: "Asana token", form: "\\d/\\d{16}(?:/\\d{16})?:[a-f0-9]{32}" },
  { kind: "Adobe client secret", form: "p8e-[A-Za-z0-9_-]{32}" },
  { kind: "Alibaba key", form: "LTAI[A-Za-z0-9]{12,20}\\b" },
  {
    kind: "Azure client secret",
    mark: { text: "Q~", at: 4 },
    form: "[\\w~.]{3}\\dQ~[\\w~.-]{31,34}",
  },
  { kind: "Artifactory key", form: "(?:AKCp[A-Za-z0-9]{60,73}|cmVmd[A-Za-z0-9]{59})\\b" },
  { kind: "Cloudflare key", form: "v1\\.0-[a-f0-9]{24}-[a-f0-9]{146}" },
  { kind: "Cloudflare token", form: "cf(?:ut|at|k)_[A-Za-z0-9]{40,60}" },
  { kind: "OpenShift token", form: "sha256~[\\w-]{43}\\b" },
  { kind: "Prefect key", form: "pnu_[A-Za-z0-9]{36}\\b" },
  { kind: "PostHog key", form: "phx_[A-Za-z0-9]{40,64}" },
  { kind: "Infracost key", form: "ico-[A-Za-z0-9]{32}\\b" },
  { kind: "Octopus key", form: "API-[A-Z0-9]{26}\\b" },
  { kind: "EasyPost key", form: "EZ[AT]K[A-Za-z0-9]{54}" },
  { kind: "Shippo key", form: "shippo_(?:live|test)_[a-f0-9]{40}" },
  { kind: "Flutterwave key", form: "FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,40}(?:-X)?" },
  { kind: "ReadMe key", form: "rdme_[a-z0-9]{70}" },
  { kind: "Sourcegraph token", form: "sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40,64}" },
  {
    kind: "MaxMind key",
    mark: { text: "_mmk", at: 36 },
    form: "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",
  },
  { kind: "Clojars token", form: "CLOJARS_[a-z0-9]{60}" },
  { kind: "rkat token", form: "rkat_[\\w-]{24,128}" },
  { kind: "OpenAI key", form: "sess-[A-Za-z0-9]{40}\\b" },
  { kind: "Together key", form: "tgp_v1_[\\w-]{40,60}" },
  { kind: "Voyage key", form: "pa-[\\w-]{40,50}", check: hasDigit },
  { kind: "LlamaCloud key", form: "llx-[A-Za-z0-9]{40,64}" },
  { kind: "NVIDIA key", form: "nvapi-[\\w-]{50,90}" },
  { kind: "Cerebras key", form: "csk-[a-z0-9]{40,64}" },
  { kind: "Fireworks key", form: "fw_[A-Za-z0-9]{22,40}\\b", check: hasDigit },
  { kind: "Jina key", form: "jina_[\\w-]{40,90}" },
  { kind: "Firecrawl key", form: "fc-[a-f0-9]{32}\\b" },
  { kind: "E2B key", form: "e2b_[a-f0-9]{40}\\b" },
  { kind: "secret key", form: "sk_[A-Za-z0-9]{30,100}\\b", check: hasDigit },
  { kind: "RunPod key", form: "rpa_[A-Za-z0-9]{40,60}\\b" },
  { kind: "Weights & Biases key", form: "wandb_v1_[\\w-]{40,120}" },
  { kind: "Pinecone key", form: "pcsk_[A-Za-z0-9_]{40,100}" },
  { kind: "Resend key", form: "re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,40}\\b", check: hasDigit },
  { kind: "Tailscale key", form: "tskey-(?:auth|api|client|scim|webhook)-[\\w-]{20,90}" },
  { kind: "HubSpot token", form: `pat-(?:na|eu|ap)\\d-${UUID}` },
  { kind: "Buildkite token", form: "bk(?:ua|pt|ct|at|aj|rt)_[a-f0-9]{40}\\b" },
  { kind: "CircleCI token", form: "CCI(?:PAT|PRJ)_[A-Za-z0-9]{20,24}_[a-f0-9]{40}" },
  { kind: "SonarQube token", form: "sq[uap]_[a-f0-9]{40}\\b" },
  { kind: "Snyk token", form: "snyk_(?:uat|sat)\\.[a-z0-9]{8}\\.[\\w.-]{40,160}" },
  { kind: "Mapbox token", form: "sk\\.eyJ[\\w-]{20,300}\\.[\\w-]{20,40}" },
  { kind: "Duffel token", form: "duffel_(?:live|test)_[\\w=-]{43}" },
  { kind: "Frame.io token", form: "fio-u-[\\w=-]{64}" },
  { kind: "Harness token", form: "[ps]at\\.[\\w-]{22}\\.[A-Za-z0-9]{24}\\.[A-Za-z0-9]{20}" },
  { kind: "Firebase key", form: "AAAA[\\w-]{7}:[\\w-]{100,200}" },
  { kind: "Telegram token", form: "bot\\d{8,10}:AA[\\w-]{33}" },
  { kind: "Vault token", form: "s\\.[A-Za-z0-9]{24}\\b", check: isNoName },
  { kind: "PASETO token", form: "v[1-4]\\.(?:local|public)\\.[\\w-]{40,2000}" },
  { kind: "ClickHouse key", form: "4b1d[A-Za-z0-9]{38}\\b" },
  { kind: "42 key", form: "s-s4t2(?:ud|af)-[a-f0-9]{64}" },
  { kind: "Grafana token", form: "eyJrIjoi[A-Za-z0-9+/]{60,400}={0,2}" },
  { kind: "Scalingo token", form: "tk-us-[\\w-]{48}" },
  { kind: "SettleMint token", form: "sm_[aps]at_[A-Za-z0-9]{16}\\b" },
  {
    kind: "Authress key",
    form: "(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\\.[a-z0-9]{4,6}\\.acc[_-][a-z0-9-]{10,32}\\.[\\w+/=-]{30,120}",
  },
  { kind: "Tencent key", form: "AKID[A-Za-z0-9]{28,40}\\b" },
  { kind: "Yandex key", form: "(?:AQVN[\\w-]{35,38}|y0_[\\w-]{40,70})", check: isNoName },
  { kind: "Deno token", form: "dd[po]_[A-Za-z0-9]{36}\\b" },
  { kind: "Render key", form: "rnd_[A-Za-z0-9]{28,40}\\b", check: hasDigit },
  { kind: "Plaid token", form: `access-(?:sandbox|development|production)-${UUID}` },
  { kind: "LaunchDarkly key", form: `(?:sdk|mob|api)-${UUID}` },
  { kind: "Axiom token", form: `(?:xaat|xapt)-${UUID}` },
  { kind: "Razorpay key", form: "rzp_(?:live|test)_[A-Za-z0-9]{14,24}" },
  { kind: "Mollie key", form: "(?:live|test)_[A-Za-z0-9]{30}\\b", check: hasDigit },
  { kind: "Lob key", form: "(?:live|test)_[a-f0-9]{35}\\b" },
  { kind: "GoCardless token", form: "live_[\\w-]{40}", check: hasDigit },
  { kind: "Contentful token", form: "CFPAT-[\\w-]{43}" },
  { kind: "Dropbox token", form: "sl\\.(?:u\\.)?[\\w-]{100,1400}" },
  { kind: "NuGet key", form: "oy2[a-z0-9]{43}\\b" },
  { kind: "Packagist token", form: "packagist_(?:ort|uut)_[a-f0-9]{40,80}" },
  { kind: "ClickUp token", form: "pk_\\d{5,9}_[A-Z0-9]{32}\\b" },
  { kind: "Typeform token", form: "tfp_[\\w-]{40,64}" },
  { kind: "Honeycomb key", form: "hc[abx][a-z]{1,2}k_[a-z0-9]{50,64}\\b" },
  { kind: "Akamai key", form: "akab-[a-z0-9]{16}-[a-z0-9]{16}\\b" },
  { kind: "AWS token", form: "(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz)[A-Za-z0-9+/=]{80,2000}" },
  { kind: "Anyscale key", form: "esecret_[a-z0-9]{24,40}" },
  { kind: "Trigger.dev key", form: "tr_(?:prod|dev|stg|pat)_[A-Za-z0-9]{20,60}", check: hasDigit },
  { kind: "Inngest key", form: "signkey-(?:prod|branch|test)-[a-f0-9]{32,64}" },
  { kind: "Polar token", form: "polar_[a-z]{2,4}_[A-Za-z0-9]{30,60}" },
  { kind: "Apify token", form: "apify_(?:api|proxy)_[A-Za-z0-9]{30,50}" },
  { kind: "Infisical token", form: "st\\.[a-f0-9-]{24,36}\\.[a-f0-9]{32}\\.[a-f0-9]{32}" },
  { kind: "Twitch token", form: "oauth:[a-z0-9]{30}\\b", check: hasDigit },
  { kind: "Amazon token", form: `amzn\\.mws\\.${UUID}` },
  { kind: "Amazon token", form: "Atz[ar]\\|[\\w+/=-]{20,2000}" },
  { kind: "Amazon client secret", form: "amzn1\\.oa2-cs\\.v1\\.[a-f0-9]{40,80}" },
  { kind: "k3s token", form: "K10[a-f0-9]{64}::[a-z]{4,12}:[\\w.]{16,100}" },
  // Of Cursor, Daytona, Rootly and DingTalk; of Coze, Honeybadger, Nylas and Xata.
  { kind: "secret key", form: "(?:key_|crsr_|dtn_|rootly_|SEC)[a-f0-9]{64}\\b" },
  { kind: "secret key", form: "(?:pat|hbp|nyk_v0|xau)_[A-Za-z0-9]{36,80}\\b", check: hasDigit },
  // Of Adafruit, Bannerbear, DevCycle, Ionic, Lichess, n8n, Ramp, Samsara, Segment and Sourcegraph.
  {
    kind: "secret key",
    form: "(?:aio|bb_pr|bb_ma|dvc_server|ion|lip|n8n_api|ramp_sec|samsara_api|sgp|slk)_[A-Za-z0-9]{20,80}\\b",
    check: hasDigit,
  },
  { kind: "Close key", form: "api_[A-Za-z0-9]{22}\\.[A-Za-z0-9]{22}\\b" },
  { kind: "CockroachDB key", form: "CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}" },
  { kind: "Defined Networking key", form: "dnkey-[\\w=-]{26}-[\\w=-]{52}" },
  { kind: "Facebook token", form: "\\d{15,16}\\|[\\w-]{27,40}", check: isMixed },
  { kind: "Klaviyo key", form: "pk_[a-f0-9]{34}\\b" },
  { kind: "MailerSend token", form: "mlsn\\.[a-f0-9]{64}" },
  { kind: "Mandrill key", form: "md-\\w{22}\\b", check: isMixed },
  { kind: "Midtrans key", form: "Mid-server-[\\w-]{20,40}", check: hasDigit },
  { kind: "ngrok token", form: "2[A-Za-z0-9]{26}_\\d[A-Za-z0-9]{20}\\b" },
  { kind: "Onfido token", form: "api_(?:live|sandbox)(?:_[a-z]{2})?\\.[\\w-]{11}\\.[\\w-]{32}" },
  { kind: "SaladCloud key", form: "salad_cloud_[A-Za-z0-9]{1,7}_[A-Za-z0-9]{20,235}" },
  { kind: "Sanity token", form: "sk[A-Za-z0-9]{170,190}\\b" },
  { kind: "StackHawk key", form: "hawk\\.[\\w-]{20}\\.[\\w-]{20}", check: hasDigit },
  { kind: "Telnyx key", form: "KEY0[A-F0-9]{32}_[A-Za-z0-9]{22}" },
  { kind: "Vercel token", form: "vercel_blob_rw_[A-Za-z0-9]{10,20}_[A-Za-z0-9]{20,60}" },
  { kind: "Voiceflow key", form: "VF\\.(?:DM|WS)\\.[a-f0-9]{24}\\.[A-Za-z0-9]{16}" },
  { kind: "WakaTime key", form: `waka_${UUID}` },
  { kind: "Zoho token", form: "1000\\.[a-f0-9]{32}\\.[a-f0-9]{32}" },
  { kind: "Zuplo key", form: "zpka_[a-f0-9]{32}_[a-f0-9]{8}" },
  { kind: "Context7 key", form: `ctx7sk-${UUID}` },
  { kind: "Amp token", form: "sgamp_\\w{40,140}" },
  { kind: "Chutes key", form: "cpk_[a-f0-9]{32}\\.[a-f0-9]{32}\\.[A-Za-z0-9]{32}" },
  { kind: "Modal key", form: "a[ks]-[A-Za-z0-9]{22}\\b", check: hasDigit },
  {
    kind: "Z.ai key",
    dot: { min: 32, max: 32 },
    form: "[a-f0-9]{32}\\.[A-Za-z0-9]{16}\\b",
    check: hasDigit,
  },
  { kind: "dbt token", form: "dbt[cu]_[\\w-]{40,64}" },
  { kind: "Elastic key", form: "essu_[A-Za-z0-9+/]{40,200}={0,2}" },
  { kind: "PubNub key", form: "sec-c-[A-Za-z0-9+/=]{40,64}" },
  { kind: "Docker token", form: "SWMTKN-1-[a-z0-9]{50}-[a-z0-9]{25}" },
  { kind: "Mercado Pago token", form: "APP_USR-\\d{10,20}-\\d{6}-[a-f0-9]{32}(?:-\\d{5,12})?" },
  { kind: "Yandex token", form: "t1\\.[\\w-]{10,400}={0,2}\\.[\\w-]{86}" },
  { kind: "Convex key", form: "(?:prod|dev|preview):[a-z0-9-]{5,60}\\|[A-Za-z0-9+/=]{40,300}" },
  {
    kind: "Azure key",
    mark: { text: "JQQJ9", at: 52 },
    form: "[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27}",
  },
  {
    kind: "Azure key",
    mark: { text: "+ASt", at: 76 },
    form: "[\\w+/]{76}\\+ASt[\\w+/]{5}[\\w=]==",
  },
  { kind: "Azure DevOps token", mark: { text: "AZDO", at: 76 }, form: "[A-Za-z0-9]{76}AZDO\\w{4}" },
  { kind: "Azure key", mark: { text: "AzSe", at: 42 }, form: "[A-Za-z0-9]{42}AzSe[A-D]\\w{5}" },
  { kind: "wallet key", form: `[xyztuv]prv${BASE58}{100,112}\\b` },
  {
    kind: "wallet key",
    form: `(?:5[HJK]${BASE58}{49}|[KLc]${BASE58}{51}|9${BASE58}{50})\\b`,
    check: isWalletKey,
  },
  {
    kind: "JSON web token",
    mark: { text: ".ey" },
    dot: { min: 17, max: 2002 },
    form: "ey[A-Za-z0-9_-]{15,2000}\\.ey[A-Za-z0-9_-]{10,4000}(?:\\.[\\w-]{0,2000})?",
  },
  // The same in Base64, as in a secret of Kubernetes: its three usual beginnings.
  {
    kind: "JSON web token",
    form: "(?:ZXlKaGJHY2lPaU|ZXlKMGVYQWlPaU|ZXlKcmFXUWlPaU)[A-Za-z0-9+/]{60,8000}={0,2}",
  },
  {
    kind: "JSON web token",
    mark: { text: ".." },
    dot: { min: 17, max: 2002 },
    form: "ey[A-Za-z0-9_-]{15,2000}\\.\\.[\\w-]{8,64}\\.[\\w-]{2,8000}\\.[\\w-]{16,64}",
  },
];
