/**
 * English words that say how a sentence is built, and not what it is about. They are indexed like
 * other words. A search leaves them out of a question that has other words.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `
  a an the this that these those such same own each every any some no nor not only both either neither
  i me my mine myself you your yours yourself he him his himself she her hers herself it its itself
  we us our ours ourselves they them their theirs themselves one ones someone something
  who whom whose which what when where why how while
  am is are was were be been being do does did done doing have has had having
  can could may might must shall should will would let lets
  and or but if so than then too also just very more most much many few other another
  as at by for from in into of off on onto out over to up down with without about after before
  between during through under against because until again here there now
  yes okay ok please
  im ive youre youve youd youll hes shes theyre theyve theyd theyll weve thats whats
  heres theres dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt wont wouldnt cant cannot
  couldnt shouldnt aint
  `
    .trim()
    .split(/\s+/),
);
