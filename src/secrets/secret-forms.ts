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
}

/**
 * Prefixes and lengths that issuers publish, or that the rules of public secret scanners have. A lower
 * bound is a little below the published length, because a key that was cut is still a key.
 */
export const SECRET_FORMS: readonly SecretForm[] = [
  { kind: "Anthropic key", form: "sk-ant-[\\w-]{16,256}" },
  { kind: "OpenRouter key", form: "sk-or-[\\w-]{20,256}" },
  { kind: "OpenAI key", form: "sk-(?:proj-|svcacct-|admin-|None-)?[\\w-]{32,256}" },
  { kind: "AWS key", form: "(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}\\b" },
  { kind: "AWS Bedrock key", form: "ABSK[A-Za-z0-9+/]{80,300}={0,2}" },
  { kind: "AWS Bedrock key", form: "bedrock-api-key-[A-Za-z0-9+/=]{20,2000}" },
  { kind: "Google key", form: "AIza[\\w-]{35}" },
  { kind: "Google token", form: "ya29\\.[\\w-]{20,1000}" },
  { kind: "Google token", form: "1//0[\\w-]{30,200}" },
  { kind: "Google client secret", form: "GOCSPX-[\\w-]{28}" },
  { kind: "GitHub token", form: "gh[pousr]_[A-Za-z0-9]{36,255}" },
  { kind: "GitHub token", form: "github_pat_\\w{22,255}" },
  {
    kind: "GitLab token",
    form: "gl(?:pat|dt|cbt|ptt|rt|ft|ffct|imt|agent|oas|soat)-[\\w.-]{20,320}",
  },
  { kind: "GitLab token", form: "GR1348941[\\w-]{20}" },
  { kind: "Bitbucket token", form: "ATBB[A-Za-z0-9]{28,40}" },
  { kind: "Atlassian token", form: "ATATT3[\\w=-]{100,300}" },
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
  { kind: "Hugging Face token", form: "(?:hf_|api_org_)[A-Za-z]{34}\\b" },
  { kind: "Replicate token", form: "r8_[A-Za-z0-9]{37}\\b" },
  { kind: "Groq key", form: "gsk_[A-Za-z0-9]{40,64}" },
  { kind: "xAI key", form: "xai-[A-Za-z0-9]{70,100}" },
  { kind: "Perplexity key", form: "pplx-[A-Za-z0-9]{40,64}" },
  { kind: "Tavily key", form: "tvly-[\\w-]{20,64}" },
  { kind: "LangSmith key", form: "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}" },
  { kind: "SendGrid key", form: "SG\\.[\\w-]{16,32}\\.[\\w-]{39,50}" },
  { kind: "Brevo key", form: "xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}" },
  { kind: "Mailgun key", form: "key-[a-f0-9]{32}\\b" },
  { kind: "Mailchimp key", mark: { text: "-us", at: 32 }, form: "[a-f0-9]{32}-us\\d{1,2}\\b" },
  { kind: "Twilio key", form: "SK[a-f0-9]{32}\\b" },
  { kind: "Telegram token", form: "\\d{8,10}:AA[\\w-]{33}" },
  {
    kind: "Discord token",
    dot: { min: 24, max: 28 },
    form: "[MNO][A-Za-z\\d_-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,40}",
  },
  { kind: "Shopify token", form: "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}" },
  { kind: "Square token", form: "EAAA[\\w-]{22,64}" },
  { kind: "Square token", form: "sq0(?:atp|csp|idp)-[\\w-]{22,64}" },
  { kind: "Facebook token", form: "EAA[MC][A-Za-z0-9]{80,300}" },
  { kind: "DigitalOcean token", form: "do[opr]_v1_[a-f0-9]{64}" },
  { kind: "Heroku key", form: "HRKU-[\\w-]{30,80}" },
  { kind: "Fly.io token", form: "(?:fo1_[\\w-]{43}|fm[12][ar]?_[A-Za-z0-9+/=]{80,2000})" },
  { kind: "Netlify token", form: "nfp_[A-Za-z0-9]{36,64}" },
  { kind: "Vercel token", form: "vc[pkira]_[A-Za-z0-9]{24,80}" },
  { kind: "Supabase key", form: "sb(?:p|_secret)_[\\w-]{20,80}" },
  { kind: "Neon key", form: "napi_[a-z0-9]{40,80}" },
  { kind: "PlanetScale key", form: "pscale_(?:tkn|oauth|pw)_[\\w=.-]{32,64}" },
  { kind: "Databricks token", form: "dapi[a-f0-9]{32}(?:-\\d)?" },
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
  { kind: "Notion token", form: "ntn_[0-9]{11}[A-Za-z0-9]{35}" },
  { kind: "Notion token", form: "secret_[A-Za-z0-9]{43}\\b" },
  { kind: "Airtable token", form: "pat[A-Za-z0-9]{14}\\.[a-f0-9]{64}" },
  { kind: "Figma token", form: "figd_[\\w-]{40,64}" },
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
  { kind: "OpenShift token", form: "sha256~[\\w-]{43}\\b" },
  { kind: "Prefect key", form: "pnu_[A-Za-z0-9]{36}\\b" },
  { kind: "PostHog key", form: "phx_[A-Za-z0-9]{40,64}" },
  { kind: "Infracost key", form: "ico-[A-Za-z0-9]{32}\\b" },
  { kind: "Octopus key", form: "API-[A-Z0-9]{26}\\b" },
  { kind: "EasyPost key", form: "EZ[AT]K[A-Za-z0-9]{54}" },
  { kind: "Shippo key", form: "shippo_(?:live|test)_[a-f0-9]{40}" },
  { kind: "Flutterwave key", form: "FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,40}(?:-X)?" },
  { kind: "ReadMe key", form: "rdme_[a-z0-9]{70}" },
  { kind: "Sourcegraph token", form: "sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}" },
  {
    kind: "MaxMind key",
    mark: { text: "_mmk", at: 36 },
    form: "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",
  },
  { kind: "Clojars token", form: "CLOJARS_[a-z0-9]{60}" },
  { kind: "rkat token", form: "rkat_[\\w-]{24,128}" },
  {
    kind: "JSON web token",
    mark: { text: ".ey" },
    dot: { min: 17, max: 2002 },
    form: "ey[A-Za-z0-9_-]{15,2000}\\.ey[A-Za-z0-9_-]{10,4000}(?:\\.[\\w-]{0,2000})?",
  },
];
