//! `Intl.Collator`, by ICU4X. Tailorings for all languages are nearly 1 MB, so only those of the supported
//! locales are included, packed with the other locale data.

use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, Strength};
use icu_collator::provider::{
    Baked, CollationDiacriticsV1, CollationJamoV1, CollationMetadataV1, CollationReorderingV1,
    CollationRootV1, CollationSpecialPrimariesV1, CollationTailoringV1,
};
use icu_collator::{Collator, CollatorPreferences};
use icu_locale::Locale;
use icu_normalizer::provider::{Baked as NormalizerBaked, NormalizerNfdDataV1, NormalizerNfdTablesV1};
use icu_provider::prelude::{
    DataError, DataErrorKind, DataMarker, DataPayload, DataProvider, DataRequest, DataResponse,
};

use super::data::{self, LocaleData};

/// Creates a collator for a tag with the keywords `co`, `kf` and `kn`; `None` if the tag is not well-formed.
pub(crate) fn collator(
    locale: LocaleData,
    tag: &str,
    sensitivity: &str,
    ignore_punctuation: bool,
) -> Option<Collator> {
    let tag = Locale::try_from_str(tag).ok()?;
    let mut options = CollatorOptions::default();
    options.strength = Some(match sensitivity {
        "base" | "case" => Strength::Primary,
        "accent" => Strength::Secondary,
        _ => Strength::Tertiary,
    });
    options.case_level = Some(if sensitivity == "case" { CaseLevel::On } else { CaseLevel::Off });
    options.alternate_handling =
        Some(if ignore_punctuation { AlternateHandling::Shifted } else { AlternateHandling::NonIgnorable });
    Collator::try_new_unstable(&Provider(locale), CollatorPreferences::from(&tag), options).ok()
}

/// Data of ICU4X, except for tailorings, which come from the locale's data.
struct Provider(LocaleData);

impl DataProvider<CollationTailoringV1> for Provider {
    fn load(&self, request: DataRequest<'_>) -> Result<DataResponse<CollationTailoringV1>, DataError> {
        let found = data::tailoring(self.0, request.id.marker_attributes.as_str());
        let found = found.ok_or_else(|| DataErrorKind::IdentifierNotFound.into_error())?;
        Ok(DataResponse {
            payload: DataPayload::from_static_ref(found),
            metadata: icu_provider::DataResponseMetadata::default(),
        })
    }
}

/// Implements requests for these markers by `$provider`.
macro_rules! provide {
    ($provider:expr, $($marker:ty),*) => {
        $(impl DataProvider<$marker> for Provider
        where
            $marker: DataMarker,
        {
            fn load(&self, request: DataRequest<'_>) -> Result<DataResponse<$marker>, DataError> {
                $provider.load(request)
            }
        })*
    };
}
provide!(
    Baked,
    CollationDiacriticsV1,
    CollationJamoV1,
    CollationMetadataV1,
    CollationReorderingV1,
    CollationRootV1,
    CollationSpecialPrimariesV1
);
provide!(NormalizerBaked, NormalizerNfdDataV1, NormalizerNfdTablesV1);
