import { createHash } from "node:crypto";
import { madeOnce } from "../text/made-once.ts";
import { eachMatch, type FoundSecret } from "./secret-values.ts";

/**
 * Finds phrases that restore a wallet (BIP-39), with no name beside them: 12, 15, 18, 21 or 24 words of the
 * standard's list, whose last bits are the checksum of the others. One in sixteen phrases of other words of the list
 * has a right checksum, and hardly any
 * sentence has twelve of its words in a row, because the list has no articles.
 */
export function addSeedPhrases(text: string, found: FoundSecret[]): void {
  for (let at = 0; at + PHRASE_MIN <= text.length; ) {
    // The last word of a phrase that begins here is looked at first, so most text is passed over.
    let last = at + PHRASE_MIN - 1;
    while (last >= at && IN_PHRASE[text.charCodeAt(last)] === 1) last -= 1;
    if (last >= at) {
      at = last + 1;
      continue;
    }
    let end = at + PHRASE_MIN;
    while (end < text.length && IN_PHRASE[text.charCodeAt(end)] === 1) end += 1;
    addFromRun(text, at, end, found);
    at = end;
  }
  if (text.includes("12") && text.includes("11")) {
    eachMatch(NUMBERED, text, (match) => {
      const words = match[0].match(/[a-z]{3,8}/g) ?? [];
      const size = SIZES.find((one) => words.length === one && isPhrase(words));
      if (size) found.push({ kind: KIND, start: match.index, end: match.index + match[0].length });
    });
  }
}

const KIND = "seed phrase";
/** The shortest phrase: twelve words of three letters. */
const PHRASE_MIN = 47;
const SIZES = [24, 21, 18, 15, 12] as const;
const IN_PHRASE = new Uint8Array(0x10000);
for (const character of "abcdefghijklmnopqrstuvwxyz \t\r\n") IN_PHRASE[character.charCodeAt(0)] = 1;
/** `1. legal 2. winner …` */
const NUMBERED =
  /(?<!\d)1[.):]\s{0,2}[a-z]{3,8}\s{1,4}2[.):]\s{0,2}[a-z]{3,8}(?:\s{1,4}(?!1[.):])\d{1,2}[.):]\s{0,2}[a-z]{3,8}){10,22}/g;

interface PlacedWord {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Whether it begins a line. */
  readonly isFirst: boolean;
}

/** Looks at each row of words of the list in a run of letters and spaces. */
function addFromRun(text: string, from: number, to: number, found: FoundSecret[]): void {
  let row: number[] = [];
  for (let at = from; at <= to; ) {
    const start = at;
    while (at < to && text.charCodeAt(at) > 32) at += 1;
    const size = at - start;
    if (size >= 3 && size <= 8) row.push(start);
    else if (size > 0) {
      if (row.length >= 12) addFromRow(text, row, found);
      row = [];
    }
    at += 1;
  }
  if (row.length >= 12) addFromRow(text, row, found);
}

/** Looks at words, by their places, whose sizes fit. */
function addFromRow(text: string, places: readonly number[], found: FoundSecret[]): void {
  let row: PlacedWord[] = [];
  for (const start of places) {
    const word = /^[a-z]{3,8}/.exec(text.slice(start, start + 8))?.[0] ?? "";
    if (beginnings().has(word.slice(0, 4))) {
      row.push({ text: word, start, end: start + word.length, isFirst: text[start - 1] === "\n" });
    } else {
      addFromWords(row, found);
      row = [];
    }
  }
  addFromWords(row, found);
}

/** Looks at words of the list that follow one another: those of each line, and all together. */
function addFromWords(row: readonly PlacedWord[], found: FoundSecret[]): void {
  if (row.length < 12) return;
  let from = 0;
  for (let at = 1; at <= row.length && row.length > 12; at += 1) {
    if (at < row.length && !row[at]?.isFirst) continue;
    if (at - from < row.length) addPhrase(row.slice(from, at), found);
    from = at;
  }
  addPhrase(row, found);
}

/** Words of the list may stand before or behind a phrase, such as `phrase`. */
const OTHERS_MAX = 3;

function addPhrase(row: readonly PlacedWord[], found: FoundSecret[]): void {
  const words = row.map(({ text }) => text);
  const size = SIZES.find((one) => one <= row.length && row.length <= one + OTHERS_MAX);
  if (size === undefined) return;
  for (let at = 0; at + size <= row.length; at += 1) {
    const [first, last] = [row[at], row[at + size - 1]];
    if (!first || !last || !isPhrase(words.slice(at, at + size))) continue;
    found.push({ kind: KIND, start: first.start, end: last.end });
    return;
  }
}

/** Whether the words are of the list, and their checksum fits. */
function isPhrase(words: readonly string[]): boolean {
  const bytes = new Uint8Array(34);
  for (const [place, word] of words.entries()) {
    const index = beginnings().get(word.slice(0, 4));
    if (index === undefined) return false;
    for (let bit = 0; bit < 11; bit += 1) {
      const at = place * 11 + bit;
      bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (((index >> (10 - bit)) & 1) << (7 - (at & 7)));
    }
  }
  const size = (words.length * 4) / 3;
  const sum = sha256(bytes.subarray(0, size));
  return (sum[0] ?? 0) >> (8 - size / 4) === (bytes[size] ?? 0) >> (8 - size / 4);
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

/** Whether a text is a wallet's private key in Base58, with a checksum that fits. */
export function isWalletKey(text: string): boolean {
  let number = 0n;
  for (const character of text) number = number * 58n + BigInt(BASE58.indexOf(character));
  const hex = number.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  if (bytes.length !== 37 && bytes.length !== 38) return false;
  const sum = sha256(sha256(bytes.subarray(0, -4)));
  return sum.subarray(0, 4).equals(bytes.subarray(-4));
}

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/**
 * The first four letters of the 2048 words of the standard, in their order. They tell the words apart, so wallets take them
 * too. Words that begin alike stand together: `Acti` and `Act` are `Actit.`. So they are 4 KB, where all letters were 13.
 */
const beginnings = madeOnce((): ReadonlyMap<string, number> => {
  const words = `
AbanilleouovsesostsuusAccecicocuhiidouqurot.titotrtuAdapd.didrjumiulvaviAeroAffaforaAgaie.enreAheaAim.r.rpsl
Alarbucoeriel.lelomoonphresotewaAmatazonouusAnalchcigeglgrimklnonuotswtetixiy.Aparolpeplprri
Archcteaengum.memomyourarerirot.tetitwAsk.pesasesisuthAthlomtatetitrAuctdiguntthtotuAverocoiAwakarayesfukwAxis
Babychcodgg.lalcllmbnannr.rergrrsesiskttBeacanaucacoeffogihahililoltncnesttrtttwyoBicyd.kendolrdrttt
BlacadamanaseaesinooosouueurusBoaratdyilmbnenuokosrdrirrssttunx.y.Bracaianasaveaeeicidieiginisocokonoootowus
Bubbdddgffillblkllndnkrdrgrss.sisyttyezz
Cabbbiblctgekelllmmempn.nancndnnnonvnypapiptr.rbrdrgrprrrtseshsistsut.tatctettugusutveCeillemensntrert
ChaialamanaoaparasateaeceeeferesicieilimoiooroucunurCigannrctityvi
Claiaparawayeaerevicieifiminipocogosotouowubumusut
Coacascodeffilinlllolumbmemfmimmmpncndnfngnnnsntnvokolpppyrarernrrstttucunupurusveyo
Cracadafamanasatawazeaedeeewicimisitoposouowucueuiumunusy.ysCubeltp.pbrirrrtrvshstteCyclDad.mampncngrishugwny.
Dealbabrcaceciclcocrerfefifygrlalimaminintnypapepoptpuriscsesiskspsttatevevivo
DiagalamarceesetffgignlennnorertsascseshsmsospstvevivozzDoctcug.lllpmananknoorseubve
Drafagamasaweaesifilinipivopumy.DuckmbneristtctyDwarDynaEageglrlrnrtsistsyEchoolonEdgeitucEffoEgg.Eighth
ElbodeecegemepevitseEmbabobrerotplpoptEnabacd.dldoemerfogagihajoliourirosutetitrveEpisEquauiEra.asodosroup
EscasasetaEterhiEvidilokolExacamcechciclcuecerhahiilisitotpapepiplpoprtetrEye.eb
Fabrcecudeinitlllsmemimon.ncntrmsht.tathtiulvoFeatbrdee.edelmancsttcvew.
Fibectelgulelmltnandnengnirermrsscsht.tnx.Flagamasataveeigipoaocooowuiusy.
Foamcug.illdllodotrcrergrkrtrurwssstunx.FragameqesieinogonosowozuiFueln.nnrnrytu
Gadginlallmep.rarbrdrlrms.sptethugzeGeneninrntnustGhosGianftggngrarlveGladanarasidimobooorovowue
GoatddldodosrispssvewnGrabacaianapasaveaeeidieitocouowunGuaresidilitn.Gym.Habiirlfmmmsndpprbrdrsrvt.vewkza
Headalaravdgiglllmlpn.roHiddghllntp.restHobbckldlelillmeneodpernrrrsspstteurveHub.gemambmondngntrdrrrtsbHybr
Ice.onIdeaenleIgnoIll.lelnImagitmemupapoprpuInchclcocrdedidodufaflfohaheitjejumanenopuqusasesispsttatetovevivo
IronIslaolsuItemIvorJackgur.zzJealanllweJob.inkeury.JudgicmpngninkstKangKeeneptcy.Kickd.dnndngsst.tctettwi
KneeifocowLab.bebodddykempngptrgtetiugunvaw.wnwsyezyLeadafaravctftg.gageismondngnsopssttve
LiarbebrcefeftghkembminkonqustttvezaLoadanbscackginengopttudunveyaLuckggmbnancxuLyri
Machd.gignidilinjokemmn.nandngnsnuplrbrcrgrirkrrsksssttctethtrttxizeMeadanasatchdadiloltmbmontnurcrgrirrshsstath
Midddnlkllmindninonurarrsessstx.xextMobidedim.meninknsntonrarernsqthtitounusveviMuchffleltscseshsisttuMysestth
NaivmepkrrsttituNearckedgaglitphrvstt.twutvewsxtNiceghNoblismiodrmrtsetatethtivew.Nuclmbrst.Oak.Obeyjeliscsetavi
OccueatoOdorOff.fefiteOil.OkayOld.ivymOmitOncee.iolilyOpenerinpotiOranbichdedigaieigphOstrOtheOutdtetptsOvalener
Own.neOxygOystOzonPactddgeirlalmndnenintperarerkrrrtsstcthtitrttusveymPeacanaraslin.nancoppprfrmrst.Phonotrays
Piancnctecg.gelllonkonpesttczzPlacanasatayeaeducugunPoemetinlalelindnyolpurtsisssttattvewdwe
PracaiedefepesetevicidiminioisivizobocodofogojomoooposotouovPublddlllplsmpncpipprcrirprssht.zzPyra
QualanaresicitizotRabbccceckdadiilinisllmpncndngpiretethvew.zo
ReadalasbebucacecicocyduflfofugigrgujelalelilymamemimondnentoppapeplpoquscsesisospsutitrtuunveviwaRhyt
Rib.bbcechdedgflghgingotppsktuvaveRoadasbobuckmaofokomsetaugunutyaRubbdeg.len.nwra
Sad.dddnfeillalmloltlumempndtitoucusvey.Scalanaratenhehoieisorourareriru
Sea.arasatcocrctcuedekgmlellmininsntrirvsstttuveShadafalaredelerieifinipivocoeoooporouovriruufy.
Siblckdeegghgnlelklllvmimpncngresttux.zeSkateti.ilinirulSlabameeenicidigimogotowusSmalarilokooSnacakapifow
SoapcccickdaftlaldlilulvmengonrrrtulunupurutSpacarataweaeceeelenheicidikinirlioionooorotrareriy.Squaueui
Stabadafagaiamanaratayeaeeemepericilinocomonooorovrareriroruudufumyl
Subjbmbwccchddffgaggitmmn.nnnspeppprrerfrgrprrrvspstSwalamapareaeeifiminitorSymbmprust
Tablckg.illelknkpergskstttxiTeacamlln.nannntrmstxtThanatemeneoereyinisoureriroumunTickdegeltmbmenyp.resstl
Toasbadadde.geilkemamonengniolotp.pipprcrnrtsstaurwawewny.
Tracadafagaianapasavayeaeeeniaibicigimipopouucueulumusuty.TubeitmbnannrkrnrtTweleniciniso.TypepiUglyUmbr
UnabawclcodedofafohaifiqitivknlotiusveUpdagrhoonpeseUrbageUsage.edefeluaUtilVacacugulilllvn.niporistul
VehilvndntnurbrirsryssteViabbrcictdeewllntolrtrusasisutaviVocaicidlcluteyaWagegoitlklllnntrfrmrrshspsttevey.
Wealaparasatb.ddekirlcstt.WhalateaeeeneripisWidedtfeldlln.ndnengnknnntresdseshtnWolfmandodolrdrkrlrrrt
WrapecesisitonYardYearllYou.unutZebrroZoneo.
`
    .replaceAll("\n", "")
    .split(/(?=[A-Z])/)
    .flatMap((group) => {
      const start = group.slice(0, 2).toLowerCase();
      return (group.slice(2).match(/../g) ?? []).map((end) => start + end.replace(".", ""));
    });
  return new Map(words.map((word, index) => [word, index]));
});
