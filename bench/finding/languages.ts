/** A few sentences of each language that searches know, made up for this bench. Longer texts are made of their words. */
export const LANGUAGES: Readonly<Record<string, string>> = {
  English:
    "Our staging server listens on another port since Monday, because the old proxy was replaced. Please restart the workers after each release and write the result into the table. The invoice for the coffee machine is still open, and nobody has called the supplier.",
  German:
    "Der Schlüssel für den Serverraum liegt beim Hausmeister, weil die Tür am Wochenende verschlossen bleibt. Bitte kündigt den Wartungsvertrag der Kaffeemaschine, bevor die Frist abläuft. Größere Änderungen besprechen wir dienstags mit den Kolleginnen aus der Buchhaltung.",
  Dutch:
    "De sleutel van de kelder ligt bij de receptie, want de deur blijft in het weekend gesloten. Vergeet niet het onderhoudscontract van de printer op te zeggen voordat de termijn verloopt. Grotere wijzigingen bespreken we dinsdag met de collega's van de boekhouding.",
  Swedish:
    "Nyckeln till serverrummet finns hos vaktmästaren, eftersom dörren är låst under helgen. Glöm inte att säga upp serviceavtalet för kaffemaskinen innan tiden går ut. Större ändringar diskuterar vi på tisdagar med kollegorna från bokföringen.",
  Danish:
    "Nøglen til kælderen ligger hos viceværten, fordi døren er låst hele weekenden. Husk at opsige aftalen om kaffemaskinen, inden fristen udløber. Større ændringer drøfter vi om tirsdagen med kollegerne fra regnskabet.",
  Norwegian:
    "Nøkkelen til kjelleren ligger hos vaktmesteren, fordi døra er låst hele helgen. Husk å si opp avtalen om kaffemaskinen før fristen går ut. Større endringer drøfter vi på tirsdager med kollegaene fra regnskapet.",
  Finnish:
    "Palvelinhuoneen avain on talonmiehellä, koska ovi pidetään lukittuna viikonloppuisin. Muistakaa irtisanoa kahvinkeittimen huoltosopimus ennen määräajan päättymistä. Suuremmista muutoksista keskustelemme tiistaisin kirjanpidon työtovereiden kanssa.",
  Hungarian:
    "A szerverterem kulcsa a gondnoknál van, mert az ajtót hétvégén zárva tartják. Ne felejtsétek el felmondani a kávégép karbantartási szerződését a határidő lejárta előtt. A nagyobb változtatásokat keddenként beszéljük meg a könyvelés munkatársaival.",
  French:
    "La clé de la salle des serveurs est chez le gardien, parce que la porte reste fermée pendant la fin de semaine. N'oubliez pas de résilier le contrat d'entretien de la cafetière avant l'échéance. Nous discutons les grands changements le mardi avec les collègues de la comptabilité.",
  Spanish:
    "La llave de la sala de servidores la tiene el conserje, porque la puerta queda cerrada durante el fin de semana. No olvidéis cancelar el contrato de mantenimiento de la cafetera antes del plazo. Los cambios grandes se discuten los martes con las compañeras de contabilidad.",
  Italian:
    "La chiave della sala macchine si trova dal portiere, perché la porta rimane chiusa durante il fine settimana. Non dimenticate di disdire il contratto di manutenzione della macchina del caffè prima della scadenza. Le modifiche più grandi si discutono il martedì con i colleghi della contabilità.",
  Portuguese:
    "A chave da sala dos servidores está com o porteiro, porque a porta fica fechada durante o fim de semana. Não esqueçam de cancelar o contrato de manutenção da cafeteira antes do prazo. As mudanças maiores são discutidas às terças com os colegas da contabilidade.",
  Romanian:
    "Cheia de la sala serverelor este la portar, deoarece ușa rămâne închisă la sfârșitul săptămânii. Nu uitați să anulați contractul de întreținere al aparatului de cafea înainte de termen. Schimbările mai mari le discutăm marțea cu colegii de la contabilitate.",
  Polish:
    "Klucz do serwerowni jest u dozorcy, ponieważ drzwi są zamknięte przez cały weekend. Nie zapomnijcie wypowiedzieć umowy serwisowej ekspresu przed upływem terminu. Większe zmiany omawiamy we wtorki z koleżankami z księgowości.",
  Russian:
    "Ключ от серверной лежит у вахтёра, потому что дверь по выходным закрыта. Не забудьте расторгнуть договор на обслуживание кофемашины до конца срока. Крупные изменения мы обсуждаем по вторникам с коллегами из бухгалтерии.",
  Ukrainian:
    "Ключ від серверної лежить у вахтера, бо двері на вихідних зачинені. Не забудьте розірвати договір на обслуговування кавоварки до кінця терміну. Великі зміни ми обговорюємо щовівторка з колегами з бухгалтерії.",
  Turkish:
    "Sunucu odasının anahtarı kapıcıda duruyor, çünkü kapı hafta sonları kilitli kalıyor. Kahve makinesinin bakım sözleşmesini süre dolmadan feshetmeyi unutmayın. Büyük değişiklikleri salı günleri muhasebedeki arkadaşlarla konuşuyoruz.",
  Arabic:
    "مفتاح غرفة الخوادم عند الحارس لأن الباب يبقى مغلقا في نهاية الأسبوع. لا تنسوا إلغاء عقد صيانة آلة القهوة قبل انتهاء المهلة. نناقش التغييرات الكبيرة يوم الثلاثاء مع الزملاء من قسم المحاسبة.",
  Hebrew:
    "המפתח לחדר השרתים נמצא אצל השומר, כי הדלת נשארת נעולה בסוף השבוע. אל תשכחו לבטל את חוזה התחזוקה של מכונת הקפה לפני המועד. על שינויים גדולים אנחנו מדברים בימי שלישי עם העמיתות מהנהלת החשבונות.",
  Chinese:
    "机房的钥匙放在门卫那里，因为周末大门一直锁着。请在期限之前取消咖啡机的维修合同。比较大的改动我们每个星期二跟会计部门的同事讨论。新的端口写在表格里，旧的代理已经换掉了。",
  Japanese:
    "サーバー室の鍵は守衛が持っています。週末はドアが閉まっているからです。期限の前にコーヒーメーカーの保守契約を解約してください。大きな変更は毎週火曜日に経理の同僚と話し合います。",
  Korean:
    "서버실 열쇠는 경비원이 가지고 있습니다. 주말에는 문이 잠겨 있기 때문입니다. 기한이 끝나기 전에 커피 기계의 유지 보수 계약을 해지해 주세요. 큰 변경은 화요일마다 회계 부서 동료들과 의논합니다.",
  Thai: "กุญแจห้องเซิร์ฟเวอร์อยู่ที่ยามเพราะประตูถูกล็อกตลอดวันหยุด กรุณายกเลิกสัญญาบำรุงรักษาเครื่องชงกาแฟก่อนครบกำหนด การเปลี่ยนแปลงใหญ่เราคุยกันทุกวันอังคารกับเพื่อนร่วมงานฝ่ายบัญชี",
};
