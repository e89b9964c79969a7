media-the-file-is-too = die Datei ist zu groß
media-it-is-not-a = keine Datei
media-the-picture-has-no = das Bild hat keine Pixel; ein anderes wählen
media-the-picture-could-not = das Bild konnte nicht umgewandelt werden: { $reason }; ein anderes Format wählen
media-is-too-large-x = { $path } ist zu groß ({ $width }x{ $height }); auf höchstens { $max } Pixel je Seite verkleinern
media-the-canvas-does-not = die Leinwand passt nicht in { $path } ({ $reason }); Ebenen entfernen oder die Leinwand zuschneiden
media-is-not-a-canvas = { $path } ist keine Leinwand, die Atelier lesen kann ({ $reason }); eine andere Datei öffnen
media-is-not-a-picture = { $path } ist kein Bild, das Atelier lesen kann ({ $reason }); eine Datei im Format PNG, JPEG oder WebP nutzen
media-the-picture-could-not-be-written = das Bild konnte nicht in { $path } geschrieben werden: { $source }; einen beschreibbaren Ordner auf einem Datenträger mit freiem Platz wählen
media-could-not-be-read = { $path } konnte nicht gelesen werden: { $source }; prüfen, ob die Datei existiert und lesbar ist
media-it-is-not-a-png-file = keine PNG-Datei
media-a-layer-ends-too = eine Ebene endet zu früh
media-a-layers-size-does = die Größe einer Ebene entspricht nicht der Liste
media-a-layer-is-not = eine Ebene ist kein einfaches RGBA-Bild
media-its-list-of-layers = die Liste der Ebenen ist zu lang
media-its-layers-take-more = die Ebenen brauchen mehr als { $value } GiB
media-a-layer-lies-outside = eine Ebene liegt außerhalb der Leinwand
media-its-layers-have-too = die Ebenen haben zu viele Teile
media-a-layers-name-or = der Name oder die Wörter einer Ebene haben mehr als { $max_text } Zeichen
media-it-has-layers =
    { $layers ->
        [one] mit { $layers } Ebene
       *[other] mit { $layers } Ebenen
    }
media-x-pixels-is-not = { $width } x { $height } Pixel ist keine gültige Größe einer Leinwand
media-it-was-written-by = von einer neueren Version von Atelier geschrieben
media-is-too-large = { $name } ist zu groß
media-is-missing = { $name } fehlt
media-its-list-cannot-be = die Liste ist nicht lesbar: { $error }
media-it-is-damaged = beschädigt: { $error }
media-it-is-too-large = zu groß
media-layer-came-back-with = Ebene { $index } kam mit anderen Pixeln zurück
media-its-list-of-layers-came-back = die Liste der Ebenen kam in anderer Form zurück
media-one-text-of-several = { $input }: ein Text von mehreren
media-hypernetwork-is-not-applied = Hypernetzwerk, das nicht angewendet wird
media-from-to-of-the = { $lora } von { $start } bis { $end } der Schritte
media-what-was-transparent-is = was durchsichtig war, ist weiß; PNG behält es
media-8-bits-a-colour = von 16 Bit je Farbe sind 8 geblieben; PNG behält sie
media-colours-beyond-srgb-became = Farben außerhalb von sRGB wurden die nächsten darin; PNG behält sie
media-the-settings-are-left = die Einstellungen fehlen; PNG behält sie
