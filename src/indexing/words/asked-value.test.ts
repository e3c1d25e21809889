import { describe, expect, test } from "vitest";
import { askedValue, lacksValue } from "./asked-value.ts";

describe("lacksValue", () => {
  test.each([
    ["how old is Priyanka", "Priyanka leads the mobile team."],
    ["what is Priyanka's phone number", "Priyanka leads the mobile team."],
    ["how many errors are there", "The error is E4021, from fx-85, in 7be41fa."],
    ["when does the library close", "She works at the library."],
    ["on which day do we meet Halina", "We met Halina."],
    ["Wie alt ist Milena?", "Milena ist unsere Putzhilfe."],
    ["combien a coûté la perceuse", "J'ai prêté la perceuse à Benoît."],
    ["cuánto cuesta el alquiler", "El alquiler lo paga la empresa."],
    ["сколько стоит гараж", "Ключ от гаража лежит в коробке."],
    ["打印机多少钱", "打印机在前台。"],
    ["周会几点开始", "周会在大会议室。"],
    ["ゴミの日は何曜日", "ゴミは家の前に出す。"],
    ["how old is Tadeo's brother", "Tadeo goes to the pool and won't eat fish."],
    ["how many seats are there", "The seats came in May 2027, at 9:30."],
    ["Wie hoch ist die Kaution?", "Die Kaution kommt am 3. Juni zurück."],
    ["was hat das Zelt gekostet", "Das Zelt trocknet."],
    ["vad kostade tältet", "Tältet torkar."],
    ["İnci kaç yaşında?", "İnci flüt çalıyor."],
    ["كم عمر هدى؟", "هدى تدرس القانون."],
    ["佐藤さんは何歳ですか", "佐藤さんは京都に住む。"],
    ["which colour is the tent", "The tent is in the cellar."],
    ["Welche Farbe hat das Zelt?", "Das Zelt trocknet."],
    ["de quelle couleur est la tente", "La tente sèche."],
    ["帐篷是什么颜色", "帐篷在地下室。"],
  ])("%s: %s", (question, text) => {
    expect(lacksValue(askedValue(question), text)).toBe(true);
  });

  test.each([
    ["how old is Priyanka", "Priyanka is 34."],
    ["how long is the line", "The line is 4km long."],
    ["how often do we test backups", "Backups are tested every spring."],
    ["how many twins are there", "Two twins."],
    ["combien de temps prendre les gouttes", "Des gouttes pendant dix jours."],
    ["when does the library close", "The library closes at noon."],
    ["when does the ledger fail", "The ledger fails if the disk is full."],
    ["Wann kommt Milena?", "Milena kommt donnerstags."],
    ["hasta cuándo lo llevo", "Antes del verano."],
    ["サーバーの再起動は何時", "サーバーは毎晩二時に再起動します。"],
    ["中村さんにはいつ連絡する", "中村さんへの連絡は午前中がよい。"],
    ["ゴミの日は何曜日", "ゴミの日は土曜日です。"],
    ["什么时候浇花", "早上浇花。"],
    ["언제 회의해요", "회의는 오후입니다."],
    ["who leads the mobile team", "Priyanka leads the mobile team."],
    ["what happens when Kafka is down", "Messages wait in Kafka."],
    ["how do I reset it", "Hold the button."],
    ["how many seats are there", "The seats cost 12 euros."],
    ["how much did the sofa cost", "The sofa was free."],
    ["was kostet das Parken", "Parken ist kostenlos."],
    ["how many guests come", "Several guests come."],
    ["wie viele Gäste kommen", "Es kommen achtzehn Gäste."],
    ["몇 명이 오나요", "세 명이 온다."],
    ["how old is Grandma", "Grandma was born on 3 May 1938."],
    ["what color theme do I use", "I use the Solarized theme."],
    ["what cost centre do we use", "Cost centre: travel."],
    ["which colour is the tent", "The tent is anthracite."],
    ["cuánto subió el alquiler", "El alquiler subió un ocho por ciento."],
    ["what are the talks about since the price change", "The talks are about bills."],
    ["회의는 몇 시에 시작해", "회의는 오전 열 시에 시작한다."],
    ["cuándo toma Bruno la pastilla", "Bruno toma la pastilla por la mañana."],
    ["which colour is the tent", "We bought a dark-green tent."],
    ["Welche Farbe hat das Zelt?", "Das graue Zelt trocknet."],
    ["какого цвета палатка", "Палатка зелёная."],
    ["帐篷是什么颜色", "帐篷是绿的。"],
  ])("not %s: %s", (question, text) => {
    expect(lacksValue(askedValue(question), text)).toBe(false);
  });
});
